#include "viz/palette.h"

#include <math.h>

#define LIGHTEST      0.5 /* strength of the last stage's colours */
#define AGAIN         0.6 /* of those of stages that repeat a pattern */
#define LINE_CONTRAST 3.0 /* W3C, Web Content Accessibility Guidelines 2.1, 1.4.11: what is no text */

struct palette {
    const char *name;
    struct shade shades[ROLES], hues[HUES];
    /* By role, of a rank's stages after the first; NULL: tints. */
    const struct shade (*stages)[PRINT_STAGES - 1];
};

#define PLAIN(color)                                                                                         \
    {                                                                                                        \
        color, HATCH_NONE, 0                                                                                 \
    }

static const struct palette light = {
    .name = "light",
    .shades =
        {
            [ROLE_FORWARD] = PLAIN(0x0072b2),
            [ROLE_LOSS] = PLAIN(0x56b4e9),
            [ROLE_BACKWARD] = PLAIN(0xe69f00),
            [ROLE_PACK] = PLAIN(0x8f6200),
            [ROLE_COMM] = PLAIN(0xcc79a7),
            [ROLE_WAIT] = PLAIN(0xf0d7e4),
            [ROLE_OPTIMIZER] = PLAIN(0x009e73),
            [ROLE_INPUT] = PLAIN(0xf0e442),
            [ROLE_INPUT_GRADIENT] = PLAIN(0xd55e00),
            [ROLE_WEIGHT_GRADIENT] = PLAIN(0x009e73),
            [ROLE_RECOMPUTE] = PLAIN(0x999999),
            [ROLE_UPDATE] = PLAIN(0x404040),
            [ROLE_BUBBLE] = PLAIN(0xe9e9e9),
            [ROLE_REST] = PLAIN(0xdcdcdc),
            [ROLE_EXPOSED] = {0xcc79a7, HATCH_DIAGONAL, 0x4d1433},
            [ROLE_INK] = PLAIN(0x1a1a1a),
            [ROLE_MUTED] = PLAIN(0x595959),
            [ROLE_GRID] = PLAIN(0xdcdcdc),
            [ROLE_LANE] = PLAIN(0xf2f2f2),
            [ROLE_BACKGROUND] = PLAIN(0xffffff),
        },
    .hues = {PLAIN(0x0072b2), PLAIN(0xe69f00), PLAIN(0x009e73), PLAIN(0xcc79a7), PLAIN(0xd55e00),
             PLAIN(0x56b4e9), PLAIN(0xf0e442)},
};

static const struct palette dark = {
    .name = "dark",
    .shades =
        {
            [ROLE_FORWARD] = PLAIN(0x0072b2),
            [ROLE_LOSS] = PLAIN(0x7cc7f2),
            [ROLE_BACKWARD] = PLAIN(0xe69f00),
            [ROLE_PACK] = PLAIN(0x9c7020),
            [ROLE_COMM] = PLAIN(0xcc79a7),
            [ROLE_WAIT] = PLAIN(0x5c3d4e),
            [ROLE_OPTIMIZER] = PLAIN(0x009e73),
            [ROLE_INPUT] = PLAIN(0xf0e442),
            [ROLE_INPUT_GRADIENT] = PLAIN(0xd55e00),
            [ROLE_WEIGHT_GRADIENT] = PLAIN(0x009e73),
            [ROLE_RECOMPUTE] = PLAIN(0x8c8c8c),
            [ROLE_UPDATE] = PLAIN(0xc9c9c9),
            [ROLE_BUBBLE] = PLAIN(0x2b3137),
            [ROLE_REST] = PLAIN(0x4a5056),
            [ROLE_EXPOSED] = {0xcc79a7, HATCH_DIAGONAL, 0x3a0d26},
            [ROLE_INK] = PLAIN(0xf4f4f4),
            [ROLE_MUTED] = PLAIN(0xb4b9be),
            [ROLE_GRID] = PLAIN(0x3c4248),
            [ROLE_LANE] = PLAIN(0x22272c),
            [ROLE_BACKGROUND] = PLAIN(0x14171a),
        },
    .hues = {PLAIN(0x0072b2), PLAIN(0xe69f00), PLAIN(0x009e73), PLAIN(0xcc79a7), PLAIN(0xd55e00),
             PLAIN(0x7cc7f2), PLAIN(0xf0e442)},
};

/* A stage's hatch is the same in all kinds that are not hatched themselves; of those it is the grey. */
static const struct shade print_stages[ROLE_CELLS][PRINT_STAGES - 1] = {
    [ROLE_FORWARD] = {{0xd9d9d9, HATCH_HORIZONTAL, 0x808080},
                      {0xd9d9d9, HATCH_BACK, 0x808080},
                      {0xd9d9d9, HATCH_VERTICAL, 0x808080}},
    [ROLE_BACKWARD] = {{0x7f7f7f, HATCH_HORIZONTAL, 0x1a1a1a},
                       {0x7f7f7f, HATCH_BACK, 0x1a1a1a},
                       {0x7f7f7f, HATCH_VERTICAL, 0x1a1a1a}},
    [ROLE_RECOMPUTE] = {{0xffffff, HATCH_HORIZONTAL, 0x595959},
                        {0xffffff, HATCH_BACK, 0x595959},
                        {0xffffff, HATCH_DIAGONAL, 0x595959}},
    [ROLE_INPUT_GRADIENT] = {{0xffffff, HATCH_DIAGONAL, 0x1a1a1a},
                             {0xd0d0d0, HATCH_DIAGONAL, 0x333333},
                             {0x858585, HATCH_DIAGONAL, 0x1a1a1a}},
    [ROLE_WEIGHT_GRADIENT] = {{0xa6a6a6, HATCH_CROSS, 0x333333},
                              {0xd0d0d0, HATCH_CROSS, 0x595959},
                              {0x858585, HATCH_CROSS, 0x1a1a1a}},
};

static const struct palette print = {
    .name = "print",
    .stages = print_stages,
    .shades =
        {
            [ROLE_FORWARD] = PLAIN(0xd9d9d9),
            [ROLE_LOSS] = {0xffffff, HATCH_VERTICAL, 0x8c8c8c},
            [ROLE_BACKWARD] = PLAIN(0x7f7f7f),
            [ROLE_PACK] = PLAIN(0x333333),
            [ROLE_COMM] = {0xffffff, HATCH_BACK, 0x595959},
            [ROLE_WAIT] = {0xffffff, HATCH_HORIZONTAL, 0xb3b3b3},
            [ROLE_OPTIMIZER] = {0xf2f2f2, HATCH_CROSS, 0x8c8c8c},
            [ROLE_INPUT] = {0xffffff, HATCH_HORIZONTAL, 0x737373},
            [ROLE_INPUT_GRADIENT] = {0xa6a6a6, HATCH_DIAGONAL, 0x333333},
            [ROLE_WEIGHT_GRADIENT] = {0xffffff, HATCH_CROSS, 0x8c8c8c},
            [ROLE_RECOMPUTE] = {0xffffff, HATCH_VERTICAL, 0x595959},
            [ROLE_UPDATE] = PLAIN(0x1a1a1a),
            [ROLE_BUBBLE] = {0xffffff, HATCH_DIAGONAL, 0xc4c4c4},
            [ROLE_REST] = {0xffffff, HATCH_BACK, 0xb3b3b3},
            [ROLE_EXPOSED] = {0xffffff, HATCH_DIAGONAL, 0x000000},
            [ROLE_INK] = PLAIN(0x000000),
            [ROLE_MUTED] = PLAIN(0x404040),
            [ROLE_GRID] = PLAIN(0xd0d0d0),
            [ROLE_LANE] = PLAIN(0xf5f5f5),
            [ROLE_BACKGROUND] = PLAIN(0xffffff),
        },
    .hues = {PLAIN(0x333333),
             PLAIN(0xd9d9d9),
             {0xffffff, HATCH_BACK, 0x595959},
             PLAIN(0x8c8c8c),
             {0xffffff, HATCH_CROSS, 0x8c8c8c},
             {0xbfbfbf, HATCH_DIAGONAL, 0x333333},
             {0xffffff, HATCH_HORIZONTAL, 0x737373}},
};

const struct palette *const palettes[] = {&light, &dark, &print, NULL};

const struct palette *palette_find(const char *name)
{
    for (unsigned i = 0; palettes[i]; i++)
        if (g_str_equal(palettes[i]->name, name))
            return palettes[i];
    return NULL;
}

const char *palette_name(const struct palette *p)
{
    return p->name;
}

uint32_t palette_color(const struct palette *p, enum role role)
{
    return p->shades[role].color;
}

struct shade palette_shade(const struct palette *p, enum role role)
{
    return p->shades[role];
}

struct shade palette_stage_shade(const struct palette *p, enum role role, uint32_t i, uint32_t n)
{
    const struct shade first = palette_shade(p, role);

    if (!p->stages)
        return palette_tint(p, first, n > 1 ? 1 - (1 - LIGHTEST) * MIN(i, n - 1) / (n - 1) : 1);
    if (role >= ROLE_CELLS || p->stages[role][0].hatch == HATCH_NONE)
        return first;
    const struct shade shade = i % PRINT_STAGES ? p->stages[role][i % PRINT_STAGES - 1] : first;
    return i < PRINT_STAGES ? shade : palette_tint(p, shade, AGAIN);
}

struct shade palette_hue(const struct palette *p, uint32_t number)
{
    return p->hues[number % HUES];
}

/* a at strength 1, b at 0 */
static uint32_t mix(uint32_t a, uint32_t b, double strength)
{
    uint32_t mixed = 0;

    for (unsigned shift = 0; shift < 24; shift += 8) {
        double x = a >> shift & 255, y = b >> shift & 255;
        mixed |= (uint32_t)lround(y + (x - y) * strength) << shift;
    }
    return mixed;
}

uint32_t palette_line(const struct palette *p, uint32_t number)
{
    const struct shade hue = p->hues[number % HUES];
    const uint32_t color = hue.hatch == HATCH_NONE ? hue.color : hue.ink;

    for (double strength = 1; strength > 0; strength -= 0.05) {
        const uint32_t line = mix(color, palette_color(p, ROLE_INK), strength);
        if (palette_contrast(line, palette_color(p, ROLE_BACKGROUND)) >= LINE_CONTRAST)
            return line;
    }
    return palette_color(p, ROLE_INK);
}

bool palette_dashed(const struct palette *p, uint32_t number)
{
    return number >= HUES || (p == &print && number % 2);
}

uint32_t palette_tint_color(const struct palette *p, uint32_t color, double strength)
{
    return mix(color, palette_color(p, ROLE_BACKGROUND), strength);
}

struct shade palette_tint(const struct palette *p, struct shade shade, double strength)
{
    shade.color = palette_tint_color(p, shade.color, strength);
    shade.ink = palette_tint_color(p, shade.ink, strength);
    return shade;
}

/* Relative luminance: W3C, Web Content Accessibility Guidelines 2.1. */
static double luminance(uint32_t color)
{
    static const double weight[] = {0.0722, 0.7152, 0.2126};
    double sum = 0;

    for (unsigned i = 0; i < 3; i++) {
        double c = (color >> 8 * i & 255) / 255.0;
        sum += weight[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double palette_contrast(uint32_t a, uint32_t b)
{
    double la = luminance(a), lb = luminance(b);

    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

uint32_t palette_text_on(uint32_t background)
{
    const uint32_t black = 0x000000, white = 0xffffff;

    return palette_contrast(black, background) >= palette_contrast(white, background) ? black : white;
}
