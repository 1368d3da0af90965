libparprof_a_SOURCES += %D%/exec.h %D%/backend.h %D%/walk.h %D%/compute.h %D%/comm.h %D%/data.h
libparprof_a_SOURCES += %D%/compute.c %D%/layers.c %D%/data.c
