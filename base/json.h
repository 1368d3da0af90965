/* base/json.h -- JSON in and out.
 *
 * Writing: escapes, exact numbers, C number format whatever the locale.
 *
 * Reading: a pull reader over text that is all in memory, which walks values in the order of the file and builds
 * nothing.  It is tolerant where files of profilers are: control characters and invalid UTF-8 in strings, NaN,
 * Infinity and other bare words (read as null), commas before a bracket, and a file that ends anywhere: what is open
 * then counts as closed, and json_cut tells.  Nesting deeper than 64 is an error, an end without a beginning too.
 *
 *   struct json *j = json_open(text, n, "run.json");
 *   json_object(j);
 *   for (const char *key; (key = json_key(j));)
 *       if (!strcmp(key, "ranks"))
 *           ranks = json_u32(j, 1, 4096);
 *       else
 *           json_skip(j);
 *   if (!json_close(j, &error))
 *       ...
 *
 * The first thing that is wrong (a number where a text was asked for, a number out of range) is kept as the error;
 * from then on every call gives nothing: no key, no element, 0, "".  So readers are straight, loops end, and only
 * json_close need be asked.  An error reads "FILE:LINE: what, what it should be".
 *
 * The end of the text is no error: from then on every call gives nothing too, and json_cut tells.  A number or a word that
 * the end may have shortened is not given; a text is, as far as it goes.  json_key and json_element skip a value that was
 * not read.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

void json_string(GString *out, const char *); /* quoted; invalid UTF-8 becomes U+FFFD; NULL: null */
void json_double(GString *out, double);       /* shortest that reads back the same; not finite: null */
void json_int(GString *out, int64_t);
void json_uint(GString *out, uint64_t);
/* A member of an object: `before`, "{" or ", ", then the key, which needs no escapes, and the value. */
void json_member_int(GString *out, const char *before, const char *key, int64_t);
void json_member_double(GString *out, const char *before, const char *key, double);
void json_us(GString *out, int64_t ns); /* "12.345": microseconds with three decimals, exact */

enum json_type { JSON_NOTHING, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

struct json;
struct json *json_open(const char *text, size_t n, const char *name); /* borrows both */
/* Frees.  False with the first error.  What follows the outermost value is not looked at. */
bool json_close(struct json *, GError **);

enum json_type json_peek(struct json *); /* of the value that comes next; JSON_NOTHING after an error or at the end */

void json_object(struct json *);      /* steps into the object that comes next */
const char *json_key(struct json *);  /* its next member's name, or NULL: steps out.  Valid until the next call */
void json_array(struct json *);       /* likewise */
bool json_element(struct json *);     /* whether another element comes next; false: steps out */
void json_skip(struct json *);        /* over the value that comes next, whatever it is */

const char *json_text(struct json *); /* decoded, valid UTF-8, NUL-free; valid until the next call */
bool json_bool(struct json *);
int64_t json_i64(struct json *, int64_t min, int64_t max); /* a whole number, exact up to the ends of int64 */
uint64_t json_u64(struct json *, uint64_t max);
uint32_t json_u32(struct json *, uint32_t min, uint32_t max);
double json_number(struct json *);     /* finite */
int64_t json_us_ns(struct json *);     /* a time in microseconds: nearest ns, from the decimals, not through a double */

bool json_bad(const struct json *); /* something was wrong */
bool json_cut(const struct json *); /* the text ended inside a value */
/* What the caller finds wrong with what was read last, as an error of this place, unless there is one already. */
void json_fail(struct json *, const char *format, ...) G_GNUC_PRINTF(2, 3);

#define JSON_ERROR (json_error_quark())
GQuark json_error_quark(void);

#endif
