#include "cli/history-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"

static bool fail(GError **error, const char *path, int code)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot append to '%s': %s", path,
                g_strerror(code));
    return false;
}

/* Opened and locked, or -1.  Whoever prunes puts another file in its place: then the lock is on one that is
 * gone. */
static int open_locked(const char *path, int flags)
{
    for (;;) {
        struct stat opened, named;
        const int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0666);
        if (fd < 0)
            return -1;
        while (flock(fd, LOCK_EX) && errno == EINTR)
            continue;
        if (!fstat(fd, &opened) && !stat(path, &named) && opened.st_ino == named.st_ino &&
            opened.st_dev == named.st_dev)
            return fd;
        close(fd);
    }
}

/* At the end of a whole line, or behind one that was cut. */
static bool ends_line(int fd, off_t size)
{
    char last = '\n';
    return size == 0 || pread(fd, &last, 1, size - 1) != 1 || last == '\n';
}

/* All of it in one write, so that whoever is killed has written all or nothing; or else none is left of it.
 */
static int append(int fd, const GString *text)
{
    struct stat st;
    ssize_t n;
    if (fstat(fd, &st))
        return errno;
    g_autoptr(GString) whole = g_string_new(ends_line(fd, st.st_size) ? "" : "\n");
    g_string_append_len(whole, text->str, (gssize)text->len);
    while ((n = write(fd, whole->str, whole->len)) < 0 && errno == EINTR)
        continue;
    if (n == (ssize_t)whole->len)
        return 0;
    const int code = n < 0 ? errno : ENOSPC;
    if (n > 0 && ftruncate(fd, st.st_size))
        return errno;
    return code;
}

/* Empty, or with a line that a history has; others may be cut or spoilt. */
static bool is_history(int fd)
{
    static const char line[] = "{\"schema\": \"parprof.history/";
    struct stat st;
    if (!fstat(fd, &st) && st.st_size == 0)
        return true;
    g_autoptr(GMappedFile) file = g_mapped_file_new_from_fd(fd, FALSE, NULL);
    return file &&
           memmem(g_mapped_file_get_contents(file), g_mapped_file_get_length(file), line, sizeof line - 1);
}

static char *now_text(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    return g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
}

bool history_append(const char *path, const struct measurement *m, const char *verdict, GError **error)
{
    g_autofree char *now = now_text();
    g_autoptr(GString) line = g_string_new(NULL);
    struct measurement copy = *m;
    copy.time = now;
    copy.verdict = (char *)verdict;
    measurement_line(&copy, line);
    const int fd = open_locked(path, O_CREAT);
    if (fd < 0)
        return fail(error, path, errno);
    const bool history = is_history(fd);
    int code = history ? append(fd, line) : 0;
    if (close(fd) && !code)
        code = errno;
    if (history)
        return !code || fail(error, path, code);
    g_set_error(
        error, OPTION_ERROR, 0,
        "'%s' is no history, and nothing is appended to it: name one, or a file that is not there yet", path);
    return false;
}

static bool same_work(const struct measurement *a, const struct measurement *b)
{
    g_autofree char *difference = fingerprint_difference(&a->fingerprint, "", &b->fingerprint, "");
    return !difference;
}

static bool is_kept(const GPtrArray *runs, guint i, uint32_t keep)
{
    uint32_t later = 0;
    for (guint k = i + 1; k < runs->len && later < keep; k++)
        later += measurement_is_reference(runs->pdata[k]) && same_work(runs->pdata[i], runs->pdata[k]);
    return later < keep;
}

static bool rewrite(const char *path, uint32_t keep, uint32_t *left, uint32_t *gone, GError **error)
{
    gsize n;
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *text = file_read(path, &n, error);
    if (!text || !measurement_of_history(text, n, path, runs, gone, error))
        return false;
    *left = 0;
    for (guint i = 0; i < runs->len; i++) {
        if (!is_kept(runs, i, keep))
            continue;
        measurement_line(runs->pdata[i], out);
        ++*left;
    }
    *gone += runs->len - *left;
    return output_write(path, out->str, out->len, error);
}

bool history_prune(const char *path, uint32_t keep, uint32_t *left, uint32_t *gone, GError **error)
{
    const int fd = open_locked(path, 0);
    if (fd < 0)
        return fail(error, path, errno);
    const bool ok = rewrite(path, keep, left, gone, error);
    close(fd);
    return ok;
}
