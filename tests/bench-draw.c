/* How fast figures are drawn: traces of many spans to SVG, in user time of this process, the least of some runs. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/scene.h"
#include "viz/figure.h"

static double user_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
}

/* DDP on 8 ranks with about that many spans. */
static void make(struct trace *t, uint32_t spans)
{
    struct scene_spec spec = scene_bert();
    spec.ranks = 8;
    spec.layers = spans / 8 / 6; /* two halves of a layer, forward and backward, and half a bucket of two hops */
    spec.buckets = spec.layers / 2;
    spec.hops = 2;
    spec.jitter = 0.3;
    scene_make(&spec, t);
}

/* Seconds; bytes of the file. */
static double draw(const struct figure_input *in, unsigned times, gsize *bytes)
{
    const struct figure_options look = {.width = 1280, .height = 720};
    const struct draw_ops *svg = draw_open("svg", NULL);
    double best = 1e9;
    if (!svg) {
        fprintf(stderr, "bench-draw: parprof-cairo.so is not built\n");
        exit(1);
    }
    for (unsigned i = 0; i < times; i++) {
        const double start = user_s();
        GBytes *file = figure_render(&figure_timeline, in, &look, svg, NULL);
        best = MIN(best, user_s() - start);
        *bytes = g_bytes_get_size(file);
        g_bytes_unref(file);
    }
    return best;
}

int main(int argc, char **argv)
{
    const uint32_t spans = argc > 1 ? (uint32_t)atoi(argv[1]) : 100000;
    struct trace trace;
    struct analysis analysis;
    gsize bytes;
    make(&trace, spans);
    const double start = user_s();
    if (!analyze(&trace, &analysis, NULL))
        return 1;
    const double took = user_s() - start;
    const struct figure_input in = {.trace = &trace, .analysis = &analysis};
    const double s = draw(&in, spans > 500000 ? 3 : 5, &bytes);
    printf("%zu %.4f %zu %.4f\n", trace.n_spans, s, bytes, took);
    analysis_release(&analysis);
    trace_release(&trace);
    return 0;
}
