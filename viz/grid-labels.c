/* What cells of a grid say: letter and number beside one another, the letter over the number, or the number
 * alone. */
#include <math.h>

#include "viz/grid.h"

/* Units of the pen. */
#define READABLE   20.0 /* what is larger is as good; the first form that reaches it is taken */
#define STACK_EASY 14.0 /* two lines of it go before a number alone that is not readable either */
#define TEXT_PART  0.6  /* of a cell's height, a line */

enum form { FORM_BESIDE, FORM_STACKED, FORM_ALONE };

struct cut {
    enum form form;
    double size;
};

uint32_t grid_number(const struct grid *g, const struct pipeline_action *a)
{
    return a->micro % MAX(g->p->n_micro / g->p->n_rounds, 1) + g->o->count_from;
}

void grid_measure(struct grid *g)
{
    const double ems = g->frame.pen.ops->cells ? 1 : 10;
    const struct font font = {ems, WEIGHT_NORMAL};
    const char *letter = grid_has_kind(g->p, OP_BWD_WEIGHT) ? "W" : "B";
    char most[16];

    g_snprintf(most, sizeof most, "%u", g->p->n_micro / g->p->n_rounds - 1 + g->o->count_from);
    for (char *c = most; *c; c++)
        *c = '0';
    g->letter = pen_width(&g->frame.pen, &font, letter) / ems;
    g->digits = pen_width(&g->frame.pen, &font, most) / ems;
}

/* Of all cells as wide alike. */
static struct cut cut_of(const struct grid *g, double room, double height)
{
    const double sizes[] = {
        [FORM_BESIDE] = MIN(room / (g->letter + g->digits), height * TEXT_PART),
        [FORM_STACKED] =
            g->p->asynchronous ? 0 : MIN(room / MAX(g->letter, g->digits), height / PEN_TWO_LINES),
        [FORM_ALONE] = MIN(room / g->digits, height * TEXT_PART),
    };
    enum form form = FORM_BESIDE;

    if (g->frame.pen.ops->cells)
        return (struct cut){sizes[FORM_BESIDE] >= 1 ? FORM_BESIDE : FORM_ALONE,
                            sizes[FORM_ALONE] >= 1 ? MAX_TEXT : 0};
    while (form < FORM_ALONE && sizes[form] < MIN(READABLE, sizes[FORM_ALONE]) &&
           !(form == FORM_STACKED && sizes[form] >= STACK_EASY && sizes[FORM_ALONE] < READABLE))
        form++;
    return (struct cut){form, MIN(floor(sizes[form]), form == FORM_BESIDE ? MAX_TEXT : READABLE)};
}

bool grid_label(const struct grid *g, const struct box *box, double bar)
{
    const struct pen *p = &g->frame.pen;
    const struct pipeline_action *a = g->blocks.v[box->block].action;
    const double room = box->w - bar - LABEL_AIR, x = box->x + bar + (box->w - bar) / 2,
                 y = box->y + box->h / 2;
    const struct cut cut = cut_of(g, room, box->h);
    const struct font font = {cut.size, WEIGHT_NORMAL};
    const struct font half = {MIN(cut.size, floor(box->h / PEN_TWO_LINES)), WEIGHT_NORMAL};
    char number[16], text[32], version[16];

    if (a->stage == STAGE_NONE || cut.size < MIN_TEXT)
        return false;
    if (a->kind == OP_LOSS) {
        if (pen_width(p, &font, op_label(a->kind)) <= room)
            pen_label(p, x, y, box->h, &font, box->shade, false, op_label(a->kind));
        return false;
    }
    g_snprintf(number, sizeof number, "%u", grid_number(g, a));
    g_snprintf(text, sizeof text, "%s%s", cut.form == FORM_BESIDE ? op_label(a->kind) : "", number);
    g_snprintf(version, sizeof version, "v%u", a->version);
    if (cut.form == FORM_STACKED)
        pen_two_lines(p, x, y, &font, box->shade, op_label(a->kind), number);
    else if (g->p->asynchronous && a->kind == OP_FWD && half.size >= MIN_VERSION && !p->ops->cells &&
             pen_width(p, &font, version) <= room)
        pen_two_lines(p, x, y, &half, box->shade, text, version);
    else
        pen_label(p, x, y, box->h, &font, box->shade, false, text);
    return true;
}
