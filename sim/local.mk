libparprof_a_SOURCES += %D%/sim.h %D%/cluster.h %D%/cost-model.h
