libparprof_a_SOURCES += %D%/draw.h %D%/figure.h
