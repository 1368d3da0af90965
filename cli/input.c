#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static gsize first_room(int fd)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return FIRST_BYTES;
    return MIN((gsize)st.st_size, INPUT_BYTES_MAX) + 1;
}

char *file_read(const char *path, gsize *bytes, GError **error)
{
    struct buffer b = {0};
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (fd < 0) {
        fail(error, path, errno, g_strerror(errno));
        return NULL;
    }
    bool ok = grow(&b, first_room(fd)) ? read_all(fd, path, &b, error)
                                       : fail(error, path, ENOMEM, "it is longer than memory has room for");
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
