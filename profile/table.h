/* profile/table.h -- columns of text that align, whatever their letters. */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include <glib.h>

/* The first row is the header; each row has as many cells as there are columns, two spaces apart, and may end
 * in a note that belongs to no column. */
struct table {
    guint n_columns;
    GString *align;   /* '<' or '>' a column */
    GPtrArray *cells; /* owned, row after row */
    GPtrArray *notes; /* owned, one a row; may hold NULL */
};

/* Titles, each after the '<' or '>' that says how its column aligns; ends with NULL.  table_end_row ends the
 * header. */
void table_init(struct table *, const char *title, ...) G_GNUC_NULL_TERMINATED;
/* One more column, in the header, before its row ends; takes the title. */
void table_column(struct table *, char align, char *title);
void table_release(struct table *);
void table_cell(struct table *, char *text); /* takes the text */
void table_end_row(struct table *, const char *note);
void table_print(const struct table *, GString *out);

/* A copy that a terminal shows as it is: valid UTF-8 without control characters. NULL gives "". */
char *printable(const char *);
/* Such a copy; of a text of more than two parts' bytes the first and the last part, with an ellipsis between. */
char *printable_ends(const char *, gsize part);
#define PRINTABLE_PART ((gsize)120) /* of what stands in a table or a sentence */

#endif
