/* base/data.h -- the data files that are built into the program, so that it finds them wherever it is installed. */
#ifndef BASE_DATA_H
#define BASE_DATA_H

struct data_file {
    const char *name, *text; /* "models/mini.ini" */
};

extern const struct data_file data_files[]; /* ends with a name of NULL */

#endif
