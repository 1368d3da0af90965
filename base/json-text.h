/* base/json-text.h -- texts of JSON as they stand in a file. */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include <glib.h>

/* From a quote to the one that ends the text, which lies before `end`; NULL: none does. */
const char *json_text_end(const char *quote, const char *end);

/* What stands between the quotes, [at, end), into `out` instead of what is there: valid UTF-8 without NULs.  Escapes that
 * JSON does not have stand for their letter. */
void json_text_decode(const char *at, const char *end, GString *out);

#endif
