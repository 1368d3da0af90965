libparprof_a_SOURCES += %D%/cluster.h %D%/cost-model.h %D%/nccl.h %D%/sim.h %D%/cluster.c %D%/cost-analytic.c \
	%D%/cost-unit.c %D%/engine.c %D%/nccl.c %D%/sweep.c
DATA_FILES += %D%/clusters/a100x4.ini %D%/clusters/cpu.ini %D%/clusters/dgx-h100.ini
