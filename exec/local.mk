libparprof_a_SOURCES += %D%/exec.h %D%/backend.h %D%/walk.h %D%/compute.h %D%/comm.h %D%/data.h
libparprof_a_SOURCES += %D%/compute.c %D%/layers.c %D%/data.c
libparprof_a_SOURCES += %D%/backend-cpu.h %D%/workers.h %D%/host.h \
	%D%/arena.h %D%/random.h %D%/text.h %D%/words.h \
	%D%/arena.c %D%/text.c %D%/words.c \
	%D%/cpu.c %D%/walk.c %D%/backend-cpu.c %D%/workers.c %D%/comm-shm.c %D%/host.c
