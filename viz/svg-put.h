/* viz/svg-put.h -- parts of a text as Cairo writes it, and of SVG as short as it can be. */
#ifndef VIZ_SVG_PUT_H
#define VIZ_SVG_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

struct slice {
    const char *at;
    size_t n;
};

bool slice_is(struct slice, const char *text);
bool slice_begins(struct slice, const char *text);
void slice_advance(struct slice *, size_t n);
/* The part up to `stop`, which is skipped; all of it where there is none. */
struct slice slice_cut(struct slice *from, char stop);
/* "-12.345678" after blanks, as Cairo writes it, in hundredths; rounded.  By hand: there are thousands. */
bool slice_number(struct slice *from, int64_t *out);

#define SVG_UNIT 100 /* numbers are counted in hundredths */
int64_t svg_hundredths(double);
void svg_put(GString *, struct slice);
void svg_put_number(GString *, int64_t hundredths);
/* Numbers after one another: a sign parts them too. */
void svg_put_next(GString *, int64_t hundredths, bool first);
void svg_put_color(GString *, uint32_t color);
void svg_put_text(GString *, const char *text); /* with what XML escapes */
/* Of one group (viz/draw-svg.h). */
void svg_put_texts(GString *, const GArray *texts, guint group);
void svg_put_spans(GString *, const GArray *spans, guint group);

#endif
