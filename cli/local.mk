libparprof_a_SOURCES += %D%/cli.h %D%/main.c
