/* profile/json.h -- writing JSON: escapes, exact numbers, C number format whatever the locale. */
#ifndef PROFILE_JSON_H
#define PROFILE_JSON_H

#include <stdint.h>

#include <glib.h>

void json_string(GString *out, const char *); /* quoted; invalid UTF-8 becomes U+FFFD; NULL: null */
void json_double(GString *out, double);       /* shortest that reads back the same; not finite: null */
void json_int(GString *out, int64_t);
void json_uint(GString *out, uint64_t);
void json_us(GString *out, int64_t ns); /* "12.345": microseconds with three decimals, exact */

#endif
