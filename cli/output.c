#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(GError **error, const char *path, int code)
{
    if (strcmp(path, "-"))
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write '%s': %s", path,
                    g_strerror(code));
    else
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write to standard output: %s",
                    g_strerror(code));
    return false;
}

/* A link keeps pointing where it does, even to nothing; the file behind it is written. */
static char *behind_link(const char *path)
{
    char *real = realpath(path, NULL);
    if (real)
        return real;
    g_autofree char *to = g_file_read_link(path, NULL), *folder = g_path_get_dirname(path);
    if (!to)
        return g_strdup(path);
    return g_path_is_absolute(to) ? g_strdup(to) : g_build_filename(folder, to, NULL);
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
    g_autofree char *target = behind_link(path), *folder = g_path_get_dirname(target);
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

bool output_same(const char *a, const char *b)
{
    if (!a || !b || !strcmp(a, "-") || !strcmp(b, "-"))
        return a && b && !strcmp(a, b);
    g_autofree char *x = behind_link(a), *y = behind_link(b);
    g_autofree char *whole_x = g_canonicalize_filename(x, NULL), *whole_y = g_canonicalize_filename(y, NULL);
    struct stat st;
    /* Devices and pipes take what comes. */
    return !strcmp(whole_x, whole_y) && (stat(whole_x, &st) || S_ISREG(st.st_mode));
}

/* What takes a file's place has its rights, and, as far as that is allowed, its owner. */
static bool keep_rights(const char *path, const struct stat *st, GError **error)
{
    if (chown(path, st->st_uid, st->st_gid) && errno != EPERM)
        return fail(error, path, errno);
    return !chmod(path, st->st_mode & 07777) || fail(error, path, errno);
}

bool output_write(const char *path, const void *data, size_t bytes, GError **error)
{
    struct stat st;
    if (!strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode)))
        return write_through(path, data, bytes, error);
    g_autofree char *target = behind_link(path);
    g_autoptr(GError) why = NULL;
    const bool there = !stat(target, &st);
    if (g_file_set_contents_full(target, data, bytes, G_FILE_SET_CONTENTS_CONSISTENT, there ? 0600 : 0666,
                                 &why))
        return !there || keep_rights(target, &st, error);
    const char *reason = g_strrstr(why->message, ": "); /* before it stands a name that is GLib's own */
    g_set_error(error, why->domain, why->code, "cannot write '%s': %s", path,
                reason ? reason + 2 : why->message);
    return false;
}
