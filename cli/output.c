#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(GError **error, const char *path, int code)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write '%s': %s", path,
                g_strerror(code));
    return false;
}

bool output_check(const char *path, GError **error)
{
    struct stat st;
    if (!strcmp(path, "-"))
        return true;
    if (!stat(path, &st)) {
        if (S_ISDIR(st.st_mode))
            return fail(error, path, EISDIR);
        if (access(path, W_OK))
            return fail(error, path, errno);
        if (!S_ISREG(st.st_mode))
            return true;
    } else if (errno != ENOENT)
        return fail(error, path, errno);
    g_autofree char *folder = g_path_get_dirname(path);
    if (stat(folder, &st))
        return fail(error, path, errno);
    if (!S_ISDIR(st.st_mode))
        return fail(error, path, ENOTDIR);
    return access(folder, W_OK | X_OK) ? fail(error, path, errno) : true;
}

static bool write_all(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        bytes -= n;
    }
    return true;
}

static bool write_through(const char *path, const void *data, size_t bytes, GError **error)
{
    int fd = strcmp(path, "-") ? open(path, O_WRONLY | O_CLOEXEC) : dup(STDOUT_FILENO);
    if (fd < 0)
        return fail(error, path, errno);
    bool ok = write_all(fd, data, bytes);
    int code = errno;
    if (close(fd) && ok) {
        ok = false;
        code = errno;
    }
    return ok || fail(error, path, code);
}

bool output_write(const char *path, const void *data, size_t bytes, GError **error)
{
    struct stat st;
    if (!strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode)))
        return write_through(path, data, bytes, error);
    /* A link keeps pointing where it does; the file behind it is replaced. */
    g_autofree char *real = realpath(path, NULL);
    return g_file_set_contents_full(real ? real : path, data, bytes, G_FILE_SET_CONTENTS_CONSISTENT, 0666,
                                    error);
}
