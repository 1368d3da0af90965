/* base/ini.h -- strict reading of the INI files that models and clusters are.
 * GKeyFile parses; this adds what it lacks: the line of a key, and errors for what nobody asked for. */
#ifndef BASE_INI_H
#define BASE_INI_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

struct ini;

/* Errors read "FILE:LINE: what, what to do".  Outside comments the text is printable ASCII, so that what it names can be
 * printed anywhere as it is; groups and keys are words of letters, digits, - and _, and stand once.  At most 64 KiB. */
struct ini *ini_parse(const char *text, const char *file, GError **);
/* A built-in file (DIR/NAME.ini of base/data.h) or, if name has a slash or ends in .ini, a file
 * on disk. */
struct ini *ini_load(const char *dir, const char *name, GError **);
/* As ini_load, of texts for people: values are UTF-8. */
struct ini *ini_load_text(const char *dir, const char *name, GError **);
char **ini_list(const char *dir); /* names of the built-in files of a directory, sorted; g_strfreev */
void ini_free(struct ini *);
char **ini_groups(const struct ini *); /* in file order; g_strfreev */
const char *ini_text(const struct ini *); /* what was parsed */

char **ini_keys(const struct ini *, const char *group); /* likewise; an empty list where there is no such group */

/* Getters mark the key as used.  Missing: the fallback if it is given (for strings not NULL), else an error.
 */
bool ini_has(const struct ini *, const char *group, const char *key);
bool ini_uint(struct ini *, const char *group, const char *key, uint32_t min, uint32_t max,
              const uint32_t *fallback, uint32_t *out, GError **);
bool ini_double(struct ini *, const char *group, const char *key, double min, double max,
                const double *fallback, double *out, GError **);
bool ini_string(struct ini *, const char *group, const char *key, const char *fallback, char **out,
                GError **);
/* one of names[], ends with NULL; out is its index */
bool ini_choice(struct ini *, const char *group, const char *key, const char *const *names,
                const unsigned *fallback, unsigned *out, GError **);
/* Every key of every group was used, or an error names the first that was not, with its line. */
bool ini_done(struct ini *, GError **);
void ini_error(const struct ini *, const char *group, const char *key, GError **, const char *format, ...)
    G_GNUC_PRINTF(5, 6);

#define INI_ERROR (ini_error_quark())
GQuark ini_error_quark(void);

#endif
