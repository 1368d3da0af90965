#include "viz/palette.h"

#include <math.h>

static const uint32_t colors[ROLES] = {
    [ROLE_FORWARD] = 0x0072b2,
    [ROLE_LOSS] = 0x56b4e9,
    [ROLE_BACKWARD] = 0xe69f00,
    [ROLE_PACK] = 0x8f6200,
    [ROLE_COMM] = 0xcc79a7,
    [ROLE_WAIT] = 0xf0d7e4,
    [ROLE_OPTIMIZER] = 0x009e73,
    [ROLE_INPUT] = 0xf0e442,
    [ROLE_EXPOSED] = 0x4d1433,
    [ROLE_INPUT_GRADIENT] = 0xd55e00,
    [ROLE_WEIGHT_GRADIENT] = 0x009e73,
    [ROLE_RECOMPUTE] = 0x999999,
    [ROLE_UPDATE] = 0x404040,
    [ROLE_INK] = 0x1a1a1a,
    [ROLE_MUTED] = 0x595959,
    [ROLE_GRID] = 0xdcdcdc,
    [ROLE_LANE] = 0xf2f2f2,
    [ROLE_BACKGROUND] = 0xffffff,
};

uint32_t palette_color(enum role role)
{
    return colors[role];
}

uint32_t palette_hue(uint32_t number)
{
    static const uint32_t hues[] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0xd55e00, 0x56b4e9, 0xf0e442};

    return hues[number % (sizeof hues / sizeof *hues)];
}

uint32_t palette_tint(uint32_t color, double strength)
{
    uint32_t mixed = 0;

    for (unsigned shift = 0; shift < 24; shift += 8) {
        double c = color >> shift & 255, white = colors[ROLE_BACKGROUND] >> shift & 255;
        mixed |= (uint32_t)lround(white + (c - white) * strength) << shift;
    }
    return mixed;
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
