/* viz/palette.h -- colours by role: Okabe and Ito's, which the colour-blind tell apart
 * (jfly.uni-koeln.de/color). Forward and backward also differ in grey, 1.5:1 or more. */
#ifndef VIZ_PALETTE_H
#define VIZ_PALETTE_H

#include <stdint.h>

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
    ROLE_CELLS,                /* the roles above are those of cells */
    ROLE_EXPOSED = ROLE_CELLS, /* ink of the hatch over communication that nothing hides */
    ROLE_INK,
    ROLE_MUTED,
    ROLE_GRID,
    ROLE_LANE,
    ROLE_BACKGROUND,
    ROLES
};

uint32_t palette_color(enum role); /* 0xRRGGBB */
/* Seven hues in turn, for what only has a number. */
uint32_t palette_hue(uint32_t number);
/* The colour mixed with the background; strength 1 leaves it as it is, 0 gives the background. */
uint32_t palette_tint(uint32_t color, double strength);
/* Contrast ratio of WCAG 2, 1 to 21. */
double palette_contrast(uint32_t a, uint32_t b);
/* Black or white, whichever is easier to read there: at least 4.58:1 on any colour, the root of black on
 * white's 21. */
uint32_t palette_text_on(uint32_t background);

#endif
