#include "viz/draw-text.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/thread.h"

#define MODULE "parprof-cairo.so"
#define SYMBOL "parprof_draw"
/* MiB of address space: Cairo, Pango and fontconfig end the process where memory runs out. */
#define SPACE 256

const char *const draw_formats[] = {"svg", "pdf", "png", "txt", NULL};

char *draw_size(const struct draw_ops *ops, double width, double height)
{
    return ops->cells ? g_strdup_printf("%.0f columns x %.0f lines", floor(width / DRAW_COLUMN),
                                        floor(height / DRAW_LINE))
                      : g_strdup_printf("%.0f x %.0f px", width, height);
}

typedef const struct draw_ops *find_writer(const char *format);

static struct {
    pthread_t thread;
    bool asked, opening;
    find_writer *find; /* the thread's while it is opening */
} module;

static bool has_space(GError **error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >> 20 >= SPACE)
        return true;
    g_set_error(
        error, DRAW_ERROR, DRAW_ERROR_FAILED,
        "drawing needs %d MiB of address space, and ulimit -v allows %u: allow more, or leave the figure "
        "out (--figure none)",
        SPACE, (unsigned)(limit.rlim_cur >> 20));
    return false;
}

static find_writer *open_at(const char *path, GError **error)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    find_writer *find = handle ? (find_writer *)dlsym(handle, SYMBOL) : NULL;

    if (!find)
        g_set_error(
            error, DRAW_ERROR, DRAW_ERROR_FAILED,
            "drawing: cannot open %s; install Cairo and Pango (Debian: libpangocairo-1.0-0) or build parprof "
            "again",
            dlerror());
    return find;
}

static find_writer *search(GError **error)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *beside = program ? g_path_get_dirname(program) : g_strdup(".");
    g_autofree char *above = g_path_get_dirname(beside); /* test programs are built in a folder below it */
    g_autofree char *moved =
        g_build_filename(above, "lib", "parprof", NULL); /* installed elsewhere than configured */
    const char *const folders[] = {beside, above, moved, PKGLIBDIR};

    for (unsigned i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *path = g_build_filename(folders[i], MODULE, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            return open_at(path, error);
    }
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_FAILED,
                "drawing: " MODULE
                " is in none of %s, %s, %s, %s; 'make' builds it and 'make install' installs it",
                folders[0], folders[1], folders[2], folders[3]);
    return NULL;
}

/* The module begins to load fonts when it is asked for a writer. */
static void *open_module(void *unused)
{
    (void)unused;
    module.find = search(NULL);
    if (module.find)
        module.find(draw_formats[0]);
    return NULL;
}

/* Also when the process ends before anything is drawn: libraries are taken down then. */
static void settle(void)
{
    if (module.opening)
        pthread_join(module.thread, NULL);
    module.opening = false;
}

void draw_prepare(void)
{
    if (module.asked || !has_space(NULL))
        return;
    module.asked = true;
    module.opening = thread_start(&module.thread, NULL, open_module, NULL) == 0;
    atexit(settle);
}

const struct draw_ops *draw_open(const char *format, GError **error)
{
    if (!g_strv_contains(draw_formats, format)) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "drawing: no format is called '%s'; use svg, pdf, png or txt", format);
        return NULL;
    }
    if (g_str_equal(format, draw_text.format))
        return &draw_text;
    if (!has_space(error))
        return NULL;
    settle();
    if (!module.find)
        module.find = search(error);
    return module.find ? module.find(format) : NULL;
}
