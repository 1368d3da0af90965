libparprof_a_SOURCES += %D%/sim.h %D%/cluster.h %D%/cost-model.h \
	%D%/cost-analytic.c %D%/cost-unit.c %D%/engine.c %D%/sweep.c
