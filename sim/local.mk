libparprof_a_SOURCES += %D%/cluster.h %D%/cost-model.h %D%/resources.h %D%/sharing.h %D%/sim.h %D%/cluster.c %D%/cost-analytic.c \
	%D%/cost-unit.c %D%/cost-waves.c %D%/engine.c %D%/flow.c %D%/resources.c %D%/sharing.c %D%/sweep.c
DATA_FILES += %D%/clusters/a100x4.ini %D%/clusters/cpu.ini %D%/clusters/dgx-h100.ini
