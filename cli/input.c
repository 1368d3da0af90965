#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/prices.h"

#define FIRST_BYTES ((gsize)64 << 10)

struct buffer {
    char *text;
    gsize n, room; /* room: bytes without the NUL */
};

static bool fail(GError **error, const char *path, int code, const char *what)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot read '%s': %s", file_name(path),
                what);
    return false;
}

static bool grow(struct buffer *b, gsize room)
{
    char *text = g_try_realloc(b->text, room + 1);
    if (!text)
        return false;
    b->text = text;
    b->room = room;
    return true;
}

static bool read_all(int fd, const char *path, struct buffer *b, GError **error)
{
    for (;;) {
        if (b->n > INPUT_BYTES_MAX)
            return fail(error, path, EFBIG, "it is longer than 4 GiB; is this the right file?");
        if (b->n == b->room && !grow(b, MIN(2 * b->room, INPUT_BYTES_MAX + 1)))
            return fail(error, path, ENOMEM, "it is longer than memory has room for");
        ssize_t n = read(fd, b->text + b->n, b->room - b->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(error, path, errno, g_strerror(errno));
        if (n == 0)
            return b->n > 0 || fail(error, path, EINVAL, "it is empty");
        b->n += (gsize)n;
    }
}

/* Of a file whose size is known one byte more, so that reading it ends without growing. */
static gsize first_room(const struct stat *st)
{
    if (!S_ISREG(st->st_mode) || st->st_size <= 0)
        return FIRST_BYTES;
    return MIN((gsize)st->st_size, INPUT_BYTES_MAX) + 1;
}

/* Devices but terminals have no end, or nothing. */
static bool read_open(int fd, const char *path, struct buffer *b, GError **error)
{
    struct stat st;
    if (fstat(fd, &st))
        return fail(error, path, errno, g_strerror(errno));
    if ((S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && !isatty(fd))
        return fail(error, path, EINVAL, "it is a device; give a file or a pipe");
    if (!grow(b, first_room(&st)))
        return fail(error, path, ENOMEM, "it is longer than memory has room for");
    return read_all(fd, path, b, error);
}

char *file_read(const char *path, gsize *bytes, GError **error)
{
    struct buffer b = {0};
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (fd < 0) {
        fail(error, path, errno, g_strerror(errno));
        return NULL;
    }
    bool ok = read_open(fd, path, &b, error);
    close(fd);
    if (!ok) {
        g_free(b.text);
        return NULL;
    }
    b.text[b.n] = '\0';
    *bytes = b.n;
    return b.text;
}

const char *file_name(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

/* The texts that an option was given: several only in a sweep.  NULL after the last. */
static const char *text_of(const struct options *o, enum option_id id, guint i)
{
    if (o->texts[id])
        return i < o->texts[id]->len ? o->texts[id]->pdata[i] : NULL;
    return i == 0 ? option_text(o, id, NULL) : NULL;
}

static bool spares(const struct options *o, const char *input, GError **error)
{
    static const enum option_id outputs[] = {OPTION_OUTPUT, OPTION_TRACE, OPTION_REPORT, OPTION_JSON, OPTION_JUNIT};
    for (unsigned k = 0; k < G_N_ELEMENTS(outputs); k++)
        for (guint i = 0; text_of(o, outputs[k], i); i++)
            if (strcmp(input, "-") && output_same(text_of(o, outputs[k], i), input)) {
                g_set_error(error, OPTION_ERROR, 0,
                            "--%s would overwrite '%s', which is to be read: name another file",
                            option_name(outputs[k]), input);
                return false;
            }
    return true;
}

/* The file that an option names; NULL: none, but what is built in. */
static const char *file_in(enum option_id id, const char *text)
{
    switch (id) {
    case OPTION_COST:
    case OPTION_COMM_MODEL:
        return g_str_has_prefix(text, PRICES_MEASURED) ? text + strlen(PRICES_MEASURED) : NULL;
    case OPTION_MODEL:
    case OPTION_CLUSTER:
    case OPTION_PRESET:
        return strchr(text, '/') || g_str_has_suffix(text, ".ini") ? text : NULL;
    default:
        return text;
    }
}

bool input_spared(const struct options *o, GError **error)
{
    static const enum option_id inputs[] = {OPTION_DATA,  OPTION_COST,    OPTION_COMM_MODEL,
                                            OPTION_MODEL, OPTION_CLUSTER, OPTION_PRESET};
    for (char **operand = o->operands; *operand; operand++)
        if (!spares(o, *operand, error))
            return false;
    for (unsigned k = 0; k < G_N_ELEMENTS(inputs); k++)
        for (guint i = 0; text_of(o, inputs[k], i); i++) {
            const char *file = file_in(inputs[k], text_of(o, inputs[k], i));
            if (file && !spares(o, file, error))
                return false;
        }
    return true;
}
