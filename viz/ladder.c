#include "viz/ladder.h"

#include <math.h>

#define LEAST_BOX    18.0
#define LEAST_GAP    16.0
#define BOX_PART     0.5 /* of a row and what follows it */
#define MOST_BOX     60.0
#define MOST_PITCH   140.0
#define LEAST_COLUMN 64.0
#define MOST_COLUMN  230.0
#define WIDTH_PART   0.88 /* of a column, a box */
#define HEAD         12.0 /* length of an arrow's head */
#define HALF_HEAD    0.45 /* of that, half its width */
#define TEXT_HEIGHT  1.25 /* of a box with a text, in its ems */
#define LEAST_TEXT   14.0
#define ROUNDING     1e-6
#define HEADS        1.7 /* height of the ranks' names, in ems */

static double up_to(double length, double unit)
{
    return unit > 0 ? floor(length / unit) * unit : length;
}

static bool divide_rows(struct ladder *l, double height, uint32_t rows)
{
    const bool cells = l->frame->pen.ops->cells;
    const double least = cells ? 2 * DRAW_LINE : LEAST_BOX + LEAST_GAP, line = cells ? DRAW_LINE : 0;
    const double large = l->frame->pen.strong.size * TEXT_HEIGHT;

    for (l->rows = rows; l->rows > 1; l->rows--) {
        l->pitch = MIN(up_to(height / (l->rows - 1 + BOX_PART), line), MOST_PITCH);
        l->box = cells ? MAX(up_to(l->pitch * BOX_PART, line), line) : MAX(l->pitch * BOX_PART, MIN(large, l->pitch - LEAST_GAP));
        l->box = MIN(l->box, MOST_BOX);
        l->pitch = MIN(l->pitch, up_to((height - l->box) / (l->rows - 1), line));
        l->box = cells ? l->box : MIN(l->box, MAX(l->pitch - LEAST_GAP, LEAST_BOX));
        if (l->pitch >= least && l->pitch * (l->rows - 1) + l->box <= height + ROUNDING)
            return true;
    }
    return false;
}

static bool divide_columns(struct ladder *l, double width, uint32_t most)
{
    const uint32_t fit = (uint32_t)MAX(0, width / LEAST_COLUMN);

    l->n_columns = MIN(l->n_ranks, MIN(most, fit));
    if (l->n_columns == 0 || (l->n_columns < l->n_ranks && l->n_columns < 3))
        return false;
    l->column = MIN(width / l->n_columns, MOST_COLUMN);
    l->width = l->column * WIDTH_PART;
    return true;
}

bool ladder_make(struct ladder *l, const struct frame *f, double x0, double x1, double y0, double y1, double gutter,
                 uint32_t n_ranks, uint32_t most, uint32_t rows)
{
    const double heads = f->pen.ops->cells ? 2 * DRAW_LINE : f->pen.strong.size * HEADS;

    *l = (struct ladder){.frame = f, .x0 = x0, .gutter = gutter, .top = y0 + heads, .n_ranks = n_ranks};
    return divide_rows(l, y1 - y0 - heads, rows) && divide_columns(l, x1 - x0 - gutter, most);
}

double ladder_end(const struct ladder *l)
{
    return ladder_row(l, l->rows - 1) + l->box;
}

uint32_t ladder_column(const struct ladder *l, uint32_t rank)
{
    if (l->n_columns == l->n_ranks || rank + 2 < l->n_columns)
        return rank;
    return rank + 1 == l->n_ranks ? l->n_columns - 1 : l->n_columns - 2;
}

uint32_t ladder_rank(const struct ladder *l, uint32_t column)
{
    if (l->n_columns == l->n_ranks || column + 2 < l->n_columns)
        return column;
    return column + 1 == l->n_columns ? l->n_ranks - 1 : OP_NONE;
}

double ladder_middle(const struct ladder *l, uint32_t column)
{
    return l->x0 + l->gutter + (column + 0.5) * l->column;
}

double ladder_row(const struct ladder *l, uint32_t row)
{
    return l->top + row * l->pitch;
}

double ladder_head(const struct ladder *l)
{
    const struct pen *p = &l->frame->pen;

    return l->top - (p->ops->cells ? DRAW_LINE * 1.5 : p->strong.size * HEADS / 2);
}

void ladder_begin_column(const struct ladder *l, uint32_t column)
{
    const struct pen *p = &l->frame->pen;
    const uint32_t rank = ladder_rank(l, column);

    if (rank != OP_NONE)
        pen_group_rank(p, rank);
    else
        pen_belong(p, KEY_RANK, column); /* the first of those left out */
}

void ladder_end_column(const struct ladder *l, uint32_t column)
{
    const struct pen *p = &l->frame->pen;

    if (ladder_rank(l, column) != OP_NONE) {
        pen_group_end(p);
        return;
    }
    pen_belong(p, KEY_RANK, DRAW_NONE);
    pen_belong_rank_only(p);
}

/* Whether all columns have room for more than numbers. */
static bool all_named(const struct ladder *l)
{
    const struct pen *p = &l->frame->pen;
    bool named = true;

    for (uint32_t c = 0; c < l->n_columns; c++) {
        g_autofree char *name = ladder_rank(l, c) == OP_NONE ? g_strdup("") : pen_rank(p, ladder_rank(l, c));
        named &= pen_width(p, &p->strong, name) <= l->column - FRAME_AIR / 2;
    }
    return named;
}

void ladder_name(const struct ladder *l, uint32_t column)
{
    const struct pen *p = &l->frame->pen;
    const uint32_t rank = ladder_rank(l, column);
    g_autofree char *name = rank == OP_NONE ? g_strdup("…")
                            : all_named(l)  ? pen_rank(p, rank)
                                            : g_strdup(count((uint64_t)rank + p->look->count_from));

    frame_text(l->frame, ladder_middle(l, column), ladder_head(l), &p->strong, ALIGN_CENTER, ROLE_INK, name);
}

static struct font fitting(const struct font *font, double height)
{
    return (struct font){MIN(font->size, MAX(LEAST_TEXT, height / TEXT_HEIGHT)), font->weight};
}

/* Rather a longer text in the letters of legends than a shorter one in larger ones; what fits neither way, in small ones. */
static const char *choose(const struct pen *p, const struct font *first, unsigned n, const char *const *texts, double room,
                          struct font *font)
{
    const double sizes[] = {first->size, MIN(first->size, p->text.size), MIN(first->size, p->small.size)};

    for (unsigned i = 0; i < 3 * n; i++) {
        const bool small = i >= 2 * n;
        *font = (struct font){sizes[small ? 2 : i % 2], first->weight};
        const char *text = texts[small ? i - 2 * n : i / 2];
        if (pen_width(p, font, text) <= room)
            return text;
    }
    return NULL;
}

void ladder_box(const struct ladder *l, uint32_t row, uint32_t column, struct shade shade, unsigned n,
                const char *const *texts, const char *second)
{
    const struct pen *p = &l->frame->pen;
    const double x = ladder_middle(l, column), y = ladder_row(l, row), room = l->width - FRAME_AIR;

    const struct font first = fitting(&p->strong, l->box);
    if (ladder_rank(l, column) == OP_NONE) {
        frame_text(l->frame, x, y + l->box / 2, &first, ALIGN_CENTER, ROLE_MUTED, "…");
        return;
    }
    pen_box(p, x - l->width / 2, y, l->width, l->box, shade);
    struct font font;
    const char *text = choose(p, &first, n, texts, room, &font);
    if (!text)
        return;
    const bool large = (font.size + p->text.size) * TEXT_HEIGHT <= l->box &&
                       (!second || pen_width(p, &p->text, second) <= room);
    const struct font *below = large ? &p->text : &p->small;
    const double upper = font.size * TEXT_HEIGHT, lower = below->size * TEXT_HEIGHT, middle = y + l->box / 2;
    const bool two = second && upper + lower <= l->box && pen_width(p, below, second) <= room;
    pen_label(p, x, two ? middle - lower / 2 : middle, two ? upper : l->box, &font, shade, false, text);
    if (two)
        pen_label(p, x, middle + upper / 2, lower, below, shade, false, second);
}

void ladder_line_to(const struct pen *p, double x0, double y0, double x1, double y1, uint32_t color, bool dashed)
{
    const double length = hypot(x1 - x0, y1 - y0), head = MIN(HEAD, length);

    if (length <= 0)
        return;
    const double dx = (x1 - x0) / length, dy = (y1 - y0) / length, bx = x1 - dx * head, by = y1 - dy * head;
    const double half = head * HALF_HEAD, xy[] = {x1, y1, bx - dy * half, by + dx * half, bx + dy * half, by - dx * half};
    if (length > head)
        pen_line(p, x0, y0, bx, by, color, 2.5, dashed);
    pen_polygon(p, 3, xy, color);
}

void ladder_arrow(const struct ladder *l, uint32_t row, uint32_t from, uint32_t to, uint32_t color, bool dashed)
{
    const double x0 = ladder_middle(l, from), x1 = ladder_middle(l, to), y0 = ladder_row(l, row) + l->box + 2,
                 y1 = ladder_row(l, row + 1) - 2, length = hypot(x1 - x0, y1 - y0);
    /* The head of a flat arrow would reach below its tip, into the box. */
    const double below = HEAD * (HALF_HEAD * fabs(x1 - x0) - (y1 - y0)) / length;

    ladder_line_to(&l->frame->pen, x0, y0, x1, y1 - MAX(0, below), color, dashed);
}

void ladder_beside(const struct ladder *l, uint32_t row, const char *name, const char *numbers)
{
    const struct pen *p = &l->frame->pen;
    const double y = ladder_row(l, row) + (l->box + l->pitch) / 2, room = l->gutter - FRAME_AIR;
    const double both = p->ops->cells ? 2 * DRAW_LINE : (p->strong.size + p->text.size) * TEXT_HEIGHT;
    g_autofree char *first = pen_ellipsize(p, &p->strong, name, room);

    if (numbers && both <= l->pitch) {
        const struct font *font = pen_width(p, &p->text, numbers) <= room ? &p->text : &p->small;
        g_autofree char *second = pen_ellipsize(p, font, numbers, room);
        frame_text(l->frame, l->x0, y - both / 4, &p->strong, ALIGN_LEFT, ROLE_INK, first);
        frame_text(l->frame, l->x0, y + both / 4, font, ALIGN_LEFT, ROLE_MUTED, second);
        return;
    }
    const double used = pen_width(p, &p->strong, first) + FRAME_AIR;
    frame_text(l->frame, l->x0, y, &p->strong, ALIGN_LEFT, ROLE_INK, first);
    if (numbers && pen_width(p, &p->text, numbers) <= room - used)
        frame_text(l->frame, l->x0 + used, y, &p->text, ALIGN_LEFT, ROLE_MUTED, numbers);
}
