libparprof_a_SOURCES += %D%/exec.h %D%/backend.h %D%/walk.h %D%/compute.h %D%/comm.h %D%/data.h
