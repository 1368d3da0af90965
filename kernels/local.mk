libparprof_a_SOURCES += %D%/kernels.h
