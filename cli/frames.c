#include "cli/frames.h"

#include <string.h>

#include <glib/gstdio.h>

#include "cli/options.h"
#include "cli/output.h"

/* Hundredths of a second, as a GIF counts. */
#define DELAY       "100"
#define QUICK_DELAY "20"
#define LAST_DELAY  "300"

/* What follows the name proper, ".svg" or "". */
static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash + 1 : path, '.');

    return dot && dot != path && dot[-1] != '/' ? dot : path + strlen(path);
}

static char *name_frame(const char *path, uint32_t i, uint32_t n)
{
    const char *suffix = suffix_of(path);

    return g_strdup_printf("%.*s-%0*u%s", (int)(suffix - path), path, n > 99 ? 3 : 2, i + 1, suffix);
}

static char *name_gif(const char *path)
{
    return g_strdup_printf("%.*s.gif", (int)(suffix_of(path) - path), path);
}

static bool write_bytes(const char *path, GBytes *bytes, GError **error)
{
    gsize n;
    const void *data = g_bytes_get_data(bytes, &n);

    return output_write(path, data, n, error);
}

bool frames_write(const char *path, const GPtrArray *frames, GError **error)
{
    for (guint i = 0; i < frames->len; i++) {
        g_autofree char *name = name_frame(path, i, frames->len);
        if (!write_bytes(name, frames->pdata[i], error))
            return false;
    }
    return true;
}

char *frames_names(const char *path, uint32_t frames, bool gif)
{
    g_autofree char *first = name_frame(path, 0, frames), *last = name_frame(path, frames - 1, frames),
                    *all = gif ? name_gif(path) : NULL;

    return g_strdup_printf("%s to %s%s%s", first, last, all ? ", " : "", all ? all : "");
}

/* --- GIF */

/* ImageMagick's, as it is called from version 7 on and before. */
static char *find_encoder(void)
{
    char *program = g_find_program_in_path("magick");

    return program ? program : g_find_program_in_path("convert");
}

bool frames_gif_ready(GError **error)
{
    g_autofree char *program = find_encoder();

    if (!program)
        g_set_error_literal(
            error, OPTION_ERROR, 0,
            "--gif needs ImageMagick, and neither magick nor convert is in PATH: install it (Debian: "
            "imagemagick), or leave --gif out and use the frames");
    return program;
}

static void remove_folder(const char *folder, const GPtrArray *files)
{
    for (guint i = 0; i < files->len; i++)
        g_unlink(files->pdata[i]);
    g_rmdir(folder);
}

static bool encode(const GPtrArray *pictures, const char *out, bool quick, GError **error)
{
    g_autofree char *program = find_encoder(), *said = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autoptr(GError) why = NULL;
    int status;

    if (!program)
        return frames_gif_ready(error);
    g_ptr_array_add(argv, program);
    for (guint i = 0; i < pictures->len; i++) {
        g_ptr_array_add(argv, (gpointer) "-delay");
        g_ptr_array_add(argv, (gpointer)(i + 1 == pictures->len ? LAST_DELAY : quick ? QUICK_DELAY : DELAY));
        g_ptr_array_add(argv, pictures->pdata[i]);
    }
    g_ptr_array_add(argv, (gpointer) "-loop");
    g_ptr_array_add(argv, (gpointer) "0");
    g_ptr_array_add(argv, (gpointer) "-layers");
    g_ptr_array_add(argv, (gpointer) "OptimizePlus");
    g_ptr_array_add(argv, (gpointer)out);
    g_ptr_array_add(argv, NULL);
    if (g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &said, &status,
                     &why) &&
        g_spawn_check_wait_status(status, &why))
        return true;
    const char *line = said ? g_strstrip(said) : "";
    g_set_error(error, why->domain, why->code, "%s could not make a GIF of the frames: %s%s%.*s", program,
                why->message, *line ? ": " : "", (int)strcspn(line, "\n"), line);
    return false;
}

static bool write_gif(const char *path, const GPtrArray *pictures, const char *folder, GPtrArray *files,
                      bool quick, GError **error)
{
    g_autofree char *out = g_build_filename(folder, "all.gif", NULL), *data = NULL, *name = name_gif(path);
    g_autoptr(GPtrArray) inputs = g_ptr_array_new();
    gsize n;

    for (guint i = 0; i < pictures->len; i++) {
        char *file = g_strdup_printf("%s/%u.png", folder, i);
        g_ptr_array_add(files, file);
        g_ptr_array_add(inputs, file);
        if (!write_bytes(file, pictures->pdata[i], error))
            return false;
    }
    g_ptr_array_add(files, g_strdup(out));
    return encode(inputs, out, quick, error) && g_file_get_contents(out, &data, &n, error) &&
           output_write(name, data, n, error);
}

bool frames_write_gif(const char *path, const GPtrArray *pictures, bool quick, GError **error)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *folder = g_dir_make_tmp("parprof-XXXXXX", error);

    if (!folder)
        return false;
    const bool ok = write_gif(path, pictures, folder, files, quick, error);
    remove_folder(folder, files);
    return ok;
}
