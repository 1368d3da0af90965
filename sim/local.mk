libparprof_a_SOURCES += %D%/cluster.h %D%/cost-model.h %D%/fair.h %D%/nccl.h %D%/resources.h %D%/sharing.h \
	%D%/sim.h %D%/cluster.c %D%/cost-analytic.c %D%/cost-nccl.c %D%/cost-split.c %D%/cost-unit.c %D%/engine.c \
	%D%/fair.c %D%/flow.c %D%/nccl.c %D%/resources.c %D%/sharing.c %D%/sweep.c %D%/waves.c
DATA_FILES += %D%/clusters/a100x16-200g.ini %D%/clusters/a100x4.ini %D%/clusters/a100x8.ini \
	%D%/clusters/cpu.ini %D%/clusters/dgx-h100.ini %D%/clusters/dgx-h100x4.ini %D%/clusters/h200x8.ini \
	%D%/clusters/rtx-pcie-x2.ini %D%/clusters/v100x32-100g.ini
