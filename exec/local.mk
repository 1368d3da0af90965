libparprof_a_SOURCES += %D%/arena.h %D%/backend-cpu.h %D%/backend.h %D%/comm.h %D%/compute.h %D%/data.h \
	%D%/exec.h %D%/host.h %D%/random.h %D%/text.h %D%/walk.h %D%/words.h %D%/workers.h %D%/arena.c \
	%D%/backend-cpu.c %D%/comm-shm.c %D%/compute.c %D%/cpu.c %D%/data.c %D%/host.c %D%/layers.c %D%/text.c \
	%D%/walk.c %D%/words.c %D%/workers.c
