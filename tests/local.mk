TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	G_TEST_SRCDIR='$(abs_top_srcdir)/tests'; export G_TEST_SRCDIR; \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	PARPROF='$(abs_top_builddir)/parprof'; export PARPROF; \
	LC_ALL=C.UTF-8; export LC_ALL;

# A test program is tests/NAME.c, linked with everything; a shell test is tests/NAME.sh.  Both speak TAP.
UNIT_TESTS =
UNIT_TESTS += %D%/t-model
UNIT_TESTS += %D%/t-bucket
UNIT_TESTS += %D%/t-seal
UNIT_TESTS += %D%/t-plan
SHELL_TESTS = %D%/layering.sh

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS) $(SHELL_TESTS)
EXTRA_DIST += $(SHELL_TESTS) %D%/tap.h
LDADD = $(CORE_LIBS)

tests_t_seal_SOURCES = %D%/t-seal.c %D%/plans.c %D%/plans.h
tests_t_plan_SOURCES = %D%/t-plan.c %D%/plans.c %D%/plans.h
