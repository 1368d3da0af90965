/* viz/palette.h -- colours by role.  Figures name roles; no other file names a colour.
 *
 * Hues are Okabe and Ito's, which the colour-blind tell apart (jfly.uni-koeln.de/color).  Themes: light and dark for
 * screens; print has greys and hatches, for printers without colour.  Of every theme holds: a label has 4.5:1 or more
 * on what it lies on, forward and backward differ by 1.5:1 or more in luminance.
 */
#ifndef VIZ_PALETTE_H
#define VIZ_PALETTE_H

#include <stdint.h>

#include "viz/draw.h"

enum role {
    ROLE_FORWARD,
    ROLE_LOSS,
    ROLE_BACKWARD,
    ROLE_PACK,
    ROLE_COMM,
    ROLE_WAIT, /* of a member for its peers */
    ROLE_OPTIMIZER,
    ROLE_INPUT,
    ROLE_INPUT_GRADIENT,
    ROLE_WEIGHT_GRADIENT,
    ROLE_RECOMPUTE,
    ROLE_UPDATE,               /* the optimizer's step in a pipeline, beside weight gradients */
    ROLE_BUBBLE,               /* in which a rank of a pipeline has nothing to do */
    ROLE_REST,                 /* of a bar, what has no name */
    ROLE_CELLS,                /* the roles above are those of cells */
    ROLE_EXPOSED = ROLE_CELLS, /* ink of the hatch over communication that nothing hides */
    ROLE_INK,
    ROLE_MUTED,
    ROLE_GRID,
    ROLE_LANE,
    ROLE_BACKGROUND,
    ROLES
};

/* How an area is filled; what is hatched has an outline of that ink too. */
struct shade {
    uint32_t color; /* 0xRRGGBB */
    uint8_t hatch;  /* enum hatch */
    uint32_t ink;
};

struct palette;
extern const struct palette *const palettes[]; /* light, dark, print; ends with NULL; the first is the standard one */
const struct palette *palette_find(const char *name); /* NULL: none is called so */
const char *palette_name(const struct palette *);

uint32_t palette_color(const struct palette *, enum role); /* 0xRRGGBB */
struct shade palette_shade(const struct palette *, enum role);
/* The same on the i-th of the n stages that a rank has: lighter on later ones, down to half the strength; in print
 * hatched otherwise or 1.5:1 apart, of PRINT_STAGES in turn. */
#define PRINT_STAGES 4
struct shade palette_stage_shade(const struct palette *, enum role, uint32_t i, uint32_t n);
#define HUES 7
/* HUES of them in turn, for what only has a number. */
struct shade palette_hue(const struct palette *, uint32_t number);
/* Likewise of lines on the background, which they differ from by 3:1 or more. */
uint32_t palette_line(const struct palette *, uint32_t number);
/* Whether such a line is dashed, since another has nearly its colour. */
bool palette_dashed(const struct palette *, uint32_t number);
/* Mixed with the background; strength 1 leaves it as it is, 0 gives the background. */
uint32_t palette_tint_color(const struct palette *, uint32_t color, double strength);
struct shade palette_tint(const struct palette *, struct shade, double strength);

/* Contrast ratio of WCAG 2, 1 to 21. */
double palette_contrast(uint32_t a, uint32_t b);
/* Black or white, whichever is easier to read there: at least 4.58:1 on any colour, the root of black on
 * white's 21. */
uint32_t palette_text_on(uint32_t background);

#endif
