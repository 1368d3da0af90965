/* Each bucket on the axis of backward: when it was ready, launched and reduced, and which of them costs the
 * step. */
#include "viz/figure.h"

#include <stdlib.h>
#include <string.h>

#include "viz/frame.h"
#include "viz/layout.h"
#include "viz/words.h"

#define MARK      8.0
#define FLAG      30.0 /* texts over the rows */
#define BAND      3.0  /* of the costliest, around its bar and marks */
#define WAIT_PART 0.4  /* of a bar's height */

/* Of --build. */
enum { STEP_MARKS, STEP_WAIT, STEP_HIDDEN, STEP_EXPOSED };

struct row {
    uint32_t number;
    /* In this order, 0 or later: of the all-reduce what computation hides comes first, up to copies_ns, then
     * what copies hide, up to the middle, then what is neither, as an earlier bucket has it, up to exposed.
     */
    int64_t ready_ns, launch_ns, start_ns, copies_ns, middle_ns, from_ns, end_ns;
    int64_t exposed_ns;
};

struct scene {
    struct frame frame;
    const struct digest *digest;
    struct scale scale;
    struct unit unit;
    struct row *rows; /* in launch order */
    uint32_t n, costliest;
    bool apart; /* nothing overlaps by intent */
    struct frame_rows place;
};

/* A file may say anything. */
static struct row make_row(const struct digest_bucket *b, uint32_t number)
{
    struct row r = {.number = number};

    r.ready_ns = MAX(0, b->ready_ns);
    r.launch_ns = MAX(r.ready_ns, b->launch_ns);
    r.start_ns = MAX(r.launch_ns, b->start_ns);
    r.end_ns = MAX(r.start_ns, b->end_ns);
    r.exposed_ns = CLAMP(b->exposed_ns, 0, r.end_ns - r.start_ns);
    r.from_ns = r.end_ns - r.exposed_ns;
    r.middle_ns = r.start_ns + CLAMP(b->hidden_ns, 0, r.from_ns - r.start_ns);
    r.copies_ns = r.middle_ns - CLAMP(b->copied_ns, 0, r.middle_ns - r.start_ns);
    return r;
}

static void collect(struct scene *s)
{
    const struct digest *d = s->digest;

    s->rows = g_new0(struct row, d->n_buckets);
    for (uint32_t i = 0; i < d->n_buckets; i++) {
        if (d->buckets[i].rank == OP_NONE)
            continue;
        s->rows[s->n] = make_row(&d->buckets[i], i);
        if (s->rows[s->n].exposed_ns > s->rows[s->costliest].exposed_ns)
            s->costliest = s->n;
        s->n++;
    }
}

static int by_cost(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->exposed_ns != y->exposed_ns)
        return x->exposed_ns > y->exposed_ns ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Of more than fit those that cost most. */
static void choose_rows(struct scene *s)
{
    const uint32_t costliest = s->rows[s->costliest].number;

    qsort(s->rows, s->n, sizeof *s->rows, by_cost);
    qsort(s->rows, s->place.shown, sizeof *s->rows, by_number);
    for (uint32_t i = 0; i < s->place.shown; i++)
        if (s->rows[i].number == costliest)
            s->costliest = i;
}

static uint32_t rank_of(const struct scene *s, uint32_t i)
{
    return s->digest->buckets[s->rows[i].number].rank;
}

/* Older files have each bucket on the rank where it ends last. */
static bool one_rank(const struct scene *s)
{
    for (uint32_t i = 1; i < s->n; i++)
        if (rank_of(s, i) != rank_of(s, 0))
            return false;
    return true;
}

/* --- words */

/* What most of the bucket's exposed time is for; NULL: unknown.  g_free. */
static char *cause_text(const struct scene *s, const struct row *r)
{
    static const char *const keys[CAUSES] = {
        [CAUSE_LATE_PEER] = "overlap-figure.late-peer",
        [CAUSE_LATE_LAUNCH] = "overlap-figure.late-launch",
        [CAUSE_QUEUE] = "overlap-figure.queue",
        [CAUSE_END_OF_BACKWARD] = "overlap-figure.end-of-backward",
        [CAUSE_BANDWIDTH] = "overlap-figure.bandwidth",
    };
    const struct pen *p = &s->frame.pen;
    const struct causes *causes = &s->digest->buckets[r->number].causes;
    unsigned most = 0;

    for (unsigned c = 1; c < CAUSES; c++)
        most = causes->ns[c] > causes->ns[most] ? c : most;
    if (causes->ns[most] <= 0)
        return NULL;
    if (most == CAUSE_LATE_PEER) {
        g_autofree char *rank = causes->late_rank == OP_NONE
                                    ? g_strdup(word(p->lang, "overlap-figure.a-peer"))
                                    : pen_rank(p, causes->late_rank);
        return say(p->lang, keys[most], "rank", rank, NULL);
    }
    return g_strdup(word(p->lang, s->apart ? "overlap-figure.apart" : keys[most]));
}

static char *beside_text(const struct scene *s, const struct row *r)
{
    const struct language *l = s->frame.pen.lang;
    char time[32];

    if (r->exposed_ns == 0)
        return g_strdup(word(l, "overlap-figure.costs-nothing"));
    g_autofree char *cause = cause_text(s, r);
    format_duration(r->exposed_ns, time);
    return cause ? say(l, "overlap-figure.costs-why", "time", time, "cause", cause, NULL)
                 : say(l, "overlap-figure.costs", "time", time, NULL);
}

static char *bucket_name(const struct pen *p, uint32_t number)
{
    return say(p->lang, "timeline.bucket-name", "n", count((uint64_t)number + p->look->count_from), NULL);
}

static char *message(const struct scene *s, const struct pen *p)
{
    const struct row *r = &s->rows[s->costliest];
    g_autofree char *rank = pen_rank(p, rank_of(s, s->costliest));
    bool copies = false;
    char time[32];

    for (uint32_t i = 0; i < s->n; i++)
        copies |= s->rows[i].middle_ns > s->rows[i].copies_ns;
    return r->exposed_ns == 0
               ? g_strdup(word(p->lang,
                               copies ? "overlap-figure.headline-copies" : "overlap-figure.headline-hidden"))
               : say(p->lang, one_rank(s) ? "overlap-figure.headline" : "overlap-figure.headline-rank", "n",
                     count((uint64_t)r->number + p->look->count_from), "time",
                     format_duration(r->exposed_ns, time), "rank", rank, NULL);
}

/* --- what stands where */

static double at(const struct scene *s, int64_t ns)
{
    return scale_at(&s->scale, (double)ns / s->unit.size);
}

/* The text of the costliest is to be read whole. */
static void leave_room(struct scene *s)
{
    const struct row *r = &s->rows[s->costliest];
    g_autofree char *text = beside_text(s, r);

    if (pen_width(&s->frame.pen, &s->frame.pen.strong, text) >
        at(s, r->ready_ns) - MARK - FRAME_AIR - s->scale.at0)
        frame_leave_beside(&s->frame, &s->scale, (double)r->end_ns / s->unit.size / s->scale.high, text);
}

static void place_columns(struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    int64_t most_ns = MAX(1, s->digest->backward_ns);
    double gutter = 0;

    for (uint32_t i = 0; i < s->n; i++)
        most_ns = MAX(most_ns, s->rows[i].end_ns);
    for (uint32_t i = 0; i < s->place.shown; i++) {
        g_autofree char *name = bucket_name(p, s->rows[i].number);
        gutter = MAX(gutter, pen_width(p, &p->strong, name));
    }
    s->unit = unit_of_time((double)most_ns);
    s->scale = (struct scale){0, (double)most_ns / s->unit.size, s->frame.x0 + gutter + 3 * FRAME_AIR,
                              s->frame.x1, false};
    if (s->rows[s->costliest].exposed_ns > 0)
        leave_room(s);
}

/* --- paint */

/* Right of the bar, or left of it where that has more room, on a plain ground. */
static void paint_beside(const struct scene *s, const struct row *r, const char *text, double y,
                         bool costliest)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const struct font font = pen_capped(costliest ? &p->strong : &p->text, s->place.bar + MARK);
    const double after = at(s, r->end_ns) + FRAME_AIR, before = at(s, r->ready_ns) - MARK - FRAME_AIR,
                 h = font.size * 1.25;
    const bool right = pen_width(p, &font, text) <= f->x1 - after || f->x1 - after > before - s->scale.at0;
    g_autofree char *shown = pen_ellipsize(p, &font, text, right ? f->x1 - after : before - s->scale.at0);
    const double w = pen_width(p, &font, shown);

    if (!*shown)
        return;
    if (costliest || !p->look->transparent)
        pen_box(p, (right ? after : before - w) - 2, y + (s->place.bar - h) / 2, w + 4, h,
                pen_shade(p, costliest ? ROLE_LANE : ROLE_BACKGROUND));
    frame_text(f, right ? after : before, y + s->place.bar / 2, &font, right ? ALIGN_LEFT : ALIGN_RIGHT,
               costliest ? ROLE_INK : ROLE_MUTED, shown);
}

static void paint_part(const struct scene *s, int64_t from_ns, int64_t to_ns, double y, enum role role,
                       bool exposed)
{
    const struct frame *f = &s->frame;
    char whole[32], number[32];
    const char *const texts[] = {whole, number};

    if (from_ns == to_ns)
        return;
    format_duration(to_ns - from_ns, whole);
    g_strlcpy(number, whole, sizeof number);
    number[strcspn(number, " ")] = '\0';
    frame_bar(f, at(s, from_ns), at(s, to_ns), y, s->place.bar, pen_shade(&f->pen, role), exposed, 2, texts);
}

static void paint_thin(const struct scene *s, int64_t from_ns, int64_t to_ns, double y)
{
    const double thin = s->place.bar * WAIT_PART, x = at(s, from_ns);

    pen_box(&s->frame.pen, x, y + (s->place.bar - thin) / 2, at(s, to_ns) - x, thin,
            pen_shade(&s->frame.pen, ROLE_WAIT));
}

/* Ready from above, launched from below. */
static void paint_marks(const struct scene *s, const struct row *r, double y)
{
    const struct pen *p = &s->frame.pen;
    const uint32_t ink = pen_color(p, ROLE_INK);

    pen_mark(p, at(s, r->ready_ns), y - MARK, MARK, ink);
    pen_rise(p, at(s, r->launch_ns), y + s->place.bar, MARK, ink);
}

static void belong(const struct pen *p, int64_t step, int64_t ns)
{
    pen_belong(p, KEY_PHASE, step);
    pen_belong(p, KEY_TIME, ns);
}

static void paint_row(const struct scene *s, uint32_t i, double y)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const struct row *r = &s->rows[i];
    const struct font strong = pen_capped(&p->strong, s->place.bar + MARK);
    const double x0 = at(s, r->ready_ns);
    const struct pen english = pen_english(p);
    g_autofree char *name = bucket_name(p, r->number), *english_name = bucket_name(&english, r->number),
                    *about = beside_text(s, r);

    pen_belong(p, KEY_BUCKET, r->number);
    belong(p, DRAW_NONE, r->ready_ns);
    frame_text(f, f->x0 + FRAME_AIR / 2, y + s->place.bar / 2, &strong, ALIGN_LEFT, ROLE_INK, name);
    belong(p, STEP_WAIT, r->ready_ns);
    if (r->start_ns > r->ready_ns)
        paint_thin(s, r->ready_ns, r->start_ns, y);
    belong(p, STEP_HIDDEN, r->start_ns);
    paint_part(s, r->start_ns, r->copies_ns, y, ROLE_COMM, false);
    paint_part(s, r->copies_ns, r->middle_ns, y, ROLE_PACK, false);
    if (r->from_ns > r->middle_ns)
        paint_thin(s, r->middle_ns, r->from_ns, y);
    belong(p, STEP_EXPOSED, r->from_ns);
    paint_part(s, r->from_ns, r->end_ns, y, ROLE_COMM, true);
    belong(p, STEP_MARKS, r->launch_ns);
    paint_marks(s, r, y);
    belong(p, STEP_EXPOSED, r->end_ns);
    if (r->exposed_ns > 0)
        paint_beside(s, r, about, y, i == s->costliest);
    pen_span(p, x0, y, MAX(1, at(s, r->end_ns) - x0), s->place.bar, name, english_name, OP_NONE, about);
    pen_belong_rank_only(p);
}

/* Over the rows: the start of backward and, where that is known, its end with a line down. */
static void paint_flags(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const double y = s->place.top + FLAG / 2 - 3, x = at(s, s->digest->backward_ns);
    const char *begins = word(p->lang, "overlap-figure.start-of-backward");
    double room = f->x1 - s->scale.at0;
    char time[32];

    if (s->digest->backward_ns > 0) {
        g_autofree char *whole = say(p->lang, "timeline.end-of-backward", "time",
                                     format_duration(s->digest->backward_ns, time), NULL);
        const char *const texts[] = {whole, word(p->lang, "timeline.end-of-backward-brief")};
        const char *text = pen_fit(p, &p->strong, 2, texts, x - FRAME_AIR - f->x0);
        if (text)
            frame_text(f, x - FRAME_AIR, y, &p->strong, ALIGN_RIGHT, ROLE_INK, text);
        pen_line(p, x, s->place.top + 2, x, s->place.axis - (s->place.shown < s->n ? FRAME_NOTE : 0),
                 pen_color(p, ROLE_INK), 1.5, true);
        room = x - (text ? pen_width(p, &p->strong, text) : 0) - 3 * FRAME_AIR - s->scale.at0;
    }
    if (pen_width(p, &p->text, begins) <= room)
        frame_text(f, s->scale.at0, y, &p->text, ALIGN_LEFT, ROLE_MUTED, begins);
}

static void paint_rows(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const double each = 2 * MARK + s->place.bar + s->place.gap;
    double y = s->place.top + FLAG + MARK;

    pen_belong_rest(p);
    if (s->rows[s->costliest].exposed_ns > 0)
        pen_box(p, f->x0, y + s->costliest * each - MARK - BAND, f->x1 - f->x0,
                s->place.bar + 2 * (MARK + BAND), pen_shade(p, ROLE_LANE));
    pen_belong_rank_only(p);
    paint_flags(s);
    for (uint32_t i = 0; i < s->place.shown; i++, y += each)
        paint_row(s, i, y);
    if (s->place.shown < s->n) {
        g_autofree char *text = say(p->lang, "overlap-figure.hidden-buckets", "shown", count(s->place.shown),
                                    "n", count(s->n), NULL);
        frame_text(f, f->x0, y - MARK + FRAME_NOTE / 2 - 2, &p->small, ALIGN_LEFT, ROLE_MUTED, text);
    }
}

static void paint_legend(struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    const struct shade ink = pen_shade(p, ROLE_INK), comm = pen_shade(p, ROLE_COMM);
    bool waits = false, rests = false, hides = false, copies = false, exposes = false;
    struct legend_entry entries[6] = {
        {.text = word(p->lang, "legend.ready"), .shade = ink, .mark = true},
        {.text = word(p->lang, "overlap-figure.launch"), .shade = ink, .mark = true, .rise = true}};
    unsigned n = 2;

    for (uint32_t i = 0; i < s->n; i++) {
        waits |= s->rows[i].start_ns > s->rows[i].ready_ns;
        rests |= s->rows[i].from_ns > s->rows[i].middle_ns;
        hides |= s->rows[i].copies_ns > s->rows[i].start_ns;
        copies |= s->rows[i].middle_ns > s->rows[i].copies_ns;
        exposes |= s->rows[i].exposed_ns > 0;
    }
    if (waits || rests)
        entries[n++] = (struct legend_entry){
            .text = word(p->lang, rests ? "overlap-figure.wait-beside" : "overlap-figure.wait"),
            .shade = pen_shade(p, ROLE_WAIT)};
    if (hides)
        entries[n++] = (struct legend_entry){.text = word(p->lang, "overlap-figure.hidden"), .shade = comm};
    if (copies)
        entries[n++] = (struct legend_entry){.text = word(p->lang, "overlap-figure.copies"),
                                             .shade = pen_shade(p, ROLE_PACK)};
    if (exposes)
        entries[n++] = (struct legend_entry){
            .text = word(p->lang, "overlap-figure.exposed"), .shade = comm, .exposed = true};
    frame_legend(&s->frame, n, entries);
}

/* --- the whole */

static bool drawable(const struct figure_input *in, GError **error)
{
    const struct digest *d = in->digest;
    bool timed = false;

    for (uint32_t i = 0; d && i < d->n_buckets; i++)
        timed |= d->buckets[i].rank != OP_NONE;
    const char *why = !d              ? "needs a run or a report; a sweep has only totals"
                      : !d->n_buckets ? "needs gradient buckets, which mode ddp has, and this step has none"
                      : !timed        ? "has nothing to draw: no bucket of the step was reduced between ranks"
                                      : NULL;

    if (why)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure overlap %s", why);
    return !why;
}

static bool paint(struct scene *s, const struct pen *pen, GError **error)
{
    g_autofree char *what = message(s, pen), *title = frame_headline(pen, s->digest, what),
                    *origin = frame_origin(pen, s->digest), *rank = pen_rank(pen, rank_of(s, 0)),
                    *about = say(pen->lang,
                                 one_rank(s) ? "overlap-figure.caption" : "overlap-figure.caption-ranks",
                                 "rank", rank, NULL),
                    *caption = g_strdup_printf("%s · %s", origin, about);

    s->frame = frame_begin(pen, title, what, caption);
    paint_legend(s);
    s->place = (struct frame_rows){.n = s->n, .around = 2 * MARK, .extra = FLAG};
    if (!frame_divide(&s->frame, &s->place))
        return frame_no_room(pen, "overlap", "a bucket", error);
    choose_rows(s);
    place_columns(s);
    frame_axis(&s->frame, &s->scale, s->unit.name, s->place.top + FLAG, s->place.axis);
    paint_rows(s);
    return true;
}

static bool draw_overlap(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {.digest = in->digest};

    if (!drawable(in, error))
        return false;
    const char *overlap = in->name ? in->name : digest_label(in->digest->options, "overlap");
    s.apart = !g_strcmp0(overlap, "none");
    collect(&s);
    const bool ok = paint(&s, pen, error);
    g_free(s.rows);
    return ok;
}

const struct figure figure_overlap = {
    .name = "overlap",
    .summary =
        "buckets on the axis of backward: hidden, exposed, waiting and why, so which bucket costs the step",
    .draw = draw_overlap,
};
