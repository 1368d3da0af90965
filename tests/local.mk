TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	G_TEST_SRCDIR='$(abs_top_srcdir)/tests'; export G_TEST_SRCDIR; \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	PARPROF='$(abs_top_builddir)/parprof'; export PARPROF; \
	LC_ALL=C.UTF-8; export LC_ALL;
