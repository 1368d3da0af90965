/* base/bom.h -- the mark of three bytes that some programs, spreadsheets among them, write before UTF-8. */
#ifndef BASE_BOM_H
#define BASE_BOM_H

#include <stddef.h>
#include <string.h>

/* Bytes of the mark at the beginning of a file's text: 3, or 0. */
static inline size_t bom_bytes(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

#endif
