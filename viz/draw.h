/* viz/draw.h -- what a figure is drawn with.  Layout calls this and knows no library.
 *
 * Coordinates are in px of the canvas, origin top left, y down.  Colours are 0xRRGGBB.  A writer collects
 * into memory; `finish` hands out the bytes, so that nothing half-drawn is ever on disk.  Texts are UTF-8 of
 * one line; in SVG they lie over all shapes of their group, so a shape drawn later must not cover one.  One thread at a
 * time.
 */
#ifndef VIZ_DRAW_H
#define VIZ_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

enum hatch { HATCH_NONE, HATCH_DIAGONAL, HATCH_BACK, HATCH_CROSS, HATCH_HORIZONTAL, HATCH_VERTICAL };
enum align { ALIGN_LEFT, ALIGN_CENTER, ALIGN_RIGHT };
enum weight { WEIGHT_NORMAL, WEIGHT_BOLD };

struct fill {
    int32_t color;  /* 0xRRGGBB, or -1: not filled */
    int32_t stroke; /* outline, or -1 */
    double stroke_width;
    uint8_t hatch; /* enum hatch, drawn in `ink` over the colour */
    uint32_t ink;
};

struct font {
    double size;    /* px of an em */
    uint8_t weight; /* enum weight */
};

struct canvas {
    double width, height; /* px */
    const char *title;    /* NULL: none */
    bool outlines;        /* svg, pdf: texts as shapes, which look the same everywhere and cannot be searched */
    double dpi;           /* png: px of the canvas are 1/96 inch; 0: 96 */
    bool transparent;     /* png: what nothing is drawn on; of svg and pdf it always is */
    bool ascii;           /* txt: no other characters for shapes */
    const char *font;     /* names of families, "A, B", before the standard ones; NULL: none */
    const char *language; /* "ko": fonts with its script are preferred; NULL: "en" */
    /* NULL, or the characters of texts that no installed font has are appended, and the first family of `font` in a line
     * of its own where it is not installed. */
    GString *missing;
};

/* What a mark belongs to, for figures that are built up step by step; DRAW_NONE: to none. */
enum draw_key { KEY_RANK, KEY_MICRO, KEY_BUCKET, KEY_PHASE, KEY_TIME, DRAW_KEYS };
#define DRAW_NONE (-1)
struct belongs {
    int64_t of[DRAW_KEYS]; /* numbers from 0; of KEY_TIME ns, or steps of a figure that has no time */
    bool rest;             /* it is what all others leave: where it has no number itself it comes last */
};
#define BELONGS_NOWHERE ((struct belongs){{DRAW_NONE, DRAW_NONE, DRAW_NONE, DRAW_NONE, DRAW_NONE}, false})

struct draw;

/* A writer: call order begin, (rect | line | polygon | text | group | span | belong)*, finish or cancel.  Every begin is ended by
 * one of the two. */
struct draw_ops {
    const char *format; /* "svg", "pdf", "png", "txt" */
    bool cells;         /* texts have one size: DRAW_COLUMN wide a character, in lines of DRAW_LINE */
    struct draw *(*begin)(const struct canvas *, GError **);
    double (*text_width)(struct draw *, const struct font *, const char *text);
    void (*rect)(struct draw *, double x, double y, double w, double h, const struct fill *);
    void (*line)(struct draw *, double x0, double y0, double x1, double y1, uint32_t color, double width,
                 bool dashed);
    void (*polygon)(struct draw *, unsigned n, const double *xy, uint32_t color);
    /* y is the baseline */
    void (*text)(struct draw *, double x, double y, const struct font *, enum align, uint32_t color,
                 const char *text);
    /* What follows belongs together, until the next group; NULL: no longer.  The id is of letters, digits and -, and
     * stands once.  May be NULL. */
    void (*group)(struct draw *, const char *id);
    /* An area says what it shows when it is pointed at.  May be NULL. */
    void (*span)(struct draw *, double x, double y, double w, double h, const char *text);
    /* What follows belongs there.  NULL in formats: viz/build.h listens. */
    void (*belong)(struct draw *, const struct belongs *);
    GBytes *(*finish)(struct draw *, GError **);
    void (*cancel)(struct draw *);
};

#define DRAW_COLUMN 8.0 /* px */
#define DRAW_LINE   16.0
/* A canvas as people ask for one of that writer: "1280 x 720 px", "100 columns x 36 lines"; g_free. */
char *draw_size(const struct draw_ops *, double width, double height);

/* Begins to open the module of draw_open on a thread, beside what its caller does until then. */
void draw_prepare(void);
/* The writer of a format; of svg, pdf and png from a module opened when a figure is drawn and kept for the life of the
 * process.  NULL: it is nowhere, or its libraries are missing; the error says where it was looked for and what to do. */
const struct draw_ops *draw_open(const char *format, GError **);
extern const char *const draw_formats[]; /* "svg", "pdf", "png", "txt"; ends with NULL */

/* Both codes end a command; INPUT: what was asked of the figure is wrong, FAILED: the library is missing or
 * refuses. */
#define DRAW_ERROR (g_quark_from_static_string("parprof-draw"))
enum { DRAW_ERROR_INPUT, DRAW_ERROR_FAILED };

#endif
