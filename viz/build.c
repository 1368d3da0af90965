#include "viz/build.h"

#include "viz/tape.h"

static const char *const key_names[DRAW_KEYS] = {"rank", "micro", "bucket", "phase", "frames:N"};

/* Of every mark the frame with which it comes. */
struct plan {
    const struct tape *tape;
    enum draw_key key;
    GArray *numbers;        /* int64_t, sorted: a frame each */
    int64_t *reach;         /* of each frame: the latest time of what has come with it or before */
    uint32_t n;             /* frames */
    bool part;              /* of KEY_TIME: of equal parts, not one a number */
    int64_t from_ns, to_ns; /* KEY_TIME */
};

static int by_number(gconstpointer a, gconstpointer b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The numbers that marks which can be seen have of a key, each once.  g_array_unref */
static GArray *collect(const struct tape *t, enum draw_key key)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(int64_t));
    guint n = 0;

    for (guint i = 0; i < tape_length(t); i++) {
        const int64_t number = tape_belongs(t, i)->of[key];
        if (number != DRAW_NONE && tape_paints(t, i))
            g_array_append_val(all, number);
    }
    g_array_sort(all, by_number);
    int64_t *v = (int64_t *)(void *)all->data;
    for (guint i = 0; i < all->len; i++)
        if (!n || v[i] != v[n - 1])
            v[n++] = v[i];
    g_array_set_size(all, n);
    return all;
}

/* A number that nothing to be seen has comes with the next one that something has. */
static uint32_t frame_of_number(const struct plan *p, int64_t number)
{
    guint low = 0, high = p->numbers->len - 1;

    while (!p->part && low < high) {
        const guint middle = (low + high) / 2;
        if (g_array_index(p->numbers, int64_t, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (!p->part)
        return low;
    const double part = (double)(number - p->from_ns) / (double)MAX(p->to_ns - p->from_ns, 1);
    return (uint32_t)CLAMP(part * p->n, 0, p->n - 1);
}

static uint32_t frame_of(const struct plan *p, const struct belongs *b)
{
    if (b->of[p->key] != DRAW_NONE)
        return frame_of_number(p, b->of[p->key]);
    if (b->rest)
        return p->n - 1;
    if (b->of[KEY_TIME] == DRAW_NONE)
        return 0;
    for (uint32_t frame = 0; frame < p->n; frame++)
        if (p->reach[frame] >= b->of[KEY_TIME])
            return frame;
    return p->n - 1;
}

static void find_reach(struct plan *p)
{
    p->reach = g_new(int64_t, p->n);
    for (uint32_t i = 0; i < p->n; i++)
        p->reach[i] = INT64_MIN;
    for (guint i = 0; i < tape_length(p->tape); i++) {
        const struct belongs *b = tape_belongs(p->tape, i);
        if (b->of[p->key] == DRAW_NONE)
            continue;
        int64_t *reach = &p->reach[frame_of_number(p, b->of[p->key])];
        *reach = MAX(*reach, b->of[KEY_TIME]);
    }
    for (uint32_t i = 1; i < p->n; i++)
        p->reach[i] = MAX(p->reach[i], p->reach[i - 1]);
}

static bool refuse(const struct tape *t, const struct build *b, const char *figure, GError **error)
{
    static const char *const lacks[DRAW_KEYS] = {"ranks", "micro-batches", "buckets", "phases", "times or steps"};
    g_autoptr(GArray) asked = collect(t, b->by);
    g_autoptr(GString) others = g_string_new(NULL);

    for (enum draw_key key = 0; key < DRAW_KEYS; key++) {
        g_autoptr(GArray) numbers = collect(t, key);
        if (numbers->len > 1)
            g_string_append_printf(others, "%s%s", others->len ? ", " : "", key_names[key]);
    }
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "--build %s: figure %s %s%s; %s%s", key_names[b->by], figure,
                asked->len ? "shows one alone of " : "shows no ", lacks[b->by],
                others->len ? "it can be built by " : "leave it out", others->str);
    return false;
}

static bool plan_make(struct plan *p, const struct tape *t, const struct build *b, const char *figure,
                      GError **error)
{
    *p = (struct plan){.tape = t, .key = b->by, .numbers = collect(t, b->by)};
    if (p->numbers->len < 2)
        return refuse(t, b, figure, error);
    p->part = b->frames;
    p->n = b->frames ? b->frames : p->numbers->len;
    if (p->n > BUILD_MAX_FRAMES) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "--build %s: that would be %u frames, and %d are the most; use frames:N",
                    key_names[b->by], p->n, BUILD_MAX_FRAMES);
        return false;
    }
    p->from_ns = g_array_index(p->numbers, int64_t, 0);
    p->to_ns = g_array_index(p->numbers, int64_t, p->numbers->len - 1);
    find_reach(p);
    return true;
}

static void plan_release(struct plan *p)
{
    g_array_unref(p->numbers);
    g_free(p->reach);
}

static GBytes *render_frame(const struct plan *p, uint32_t frame, const struct figure *f,
                            const struct figure_input *in, const struct figure_options *o,
                            const struct draw_ops *ops, GError **error)
{
    struct draw *draw = figure_begin(f, in, o, ops, error);
    g_autofree bool *shown = g_new(bool, tape_length(p->tape) + 1);

    if (!draw)
        return NULL;
    for (guint i = 0; i < tape_length(p->tape); i++)
        shown[i] = frame_of(p, tape_belongs(p->tape, i)) <= frame;
    tape_replay(p->tape, shown, draw);
    return ops->finish(draw, error);
}

static GPtrArray *render_frames(const struct plan *p, const struct figure *f, const struct figure_input *in,
                                const struct figure_options *o, const struct draw_ops *ops, GError **error)
{
    GPtrArray *frames = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    struct figure_options look = *o;

    for (uint32_t i = 0; i < p->n; i++) {
        look.missing = i + 1 == p->n ? o->missing : NULL; /* said once */
        GBytes *bytes = render_frame(p, i, f, in, &look, ops, error);
        if (!bytes) {
            g_ptr_array_unref(frames);
            return NULL;
        }
        g_ptr_array_add(frames, bytes);
    }
    return frames;
}

GPtrArray *build_render(const struct build *b, const struct figure *f, const struct figure_input *in,
                        const struct figure_options *o, const struct draw_ops *ops, GError **error)
{
    struct figure_options look = *o;
    GPtrArray *frames = NULL;
    struct plan plan = {0};

    look.missing = NULL;
    struct draw *draw = figure_begin(f, in, &look, ops, error);
    if (!draw)
        return NULL;
    struct tape *tape = tape_new(ops, draw);
    if (figure_draw(f, in, o, tape_ops(tape), tape_draw(tape), error)) {
        if (plan_make(&plan, tape, b, f->name, error))
            frames = render_frames(&plan, f, in, o, ops, error);
        plan_release(&plan);
    }
    tape_free(tape);
    ops->cancel(draw);
    return frames;
}
