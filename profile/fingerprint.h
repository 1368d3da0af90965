/* profile/fingerprint.h -- of what a run's times are: what must be the same for two runs to be compared, and what may
 * differ and is shown. */
#ifndef PROFILE_FINGERPRINT_H
#define PROFILE_FINGERPRINT_H

#include "base/json.h"
#include "profile/digest.h"

struct fingerprint {
    char **must, **may; /* key, value, ... NULL; never NULL themselves once made or read */
};

/* must: mode, model, backend, ranks, whether it was simulated, every option of the work, every label (device, link,
 * where times come from) but those of what went wrong or was done to it on purpose (an injected delay), and where no GPU is named processor and cores.
 * may: the rest of the environment (program, commit, driver, clocks, load, host) and those labels. */
void fingerprint_make(struct fingerprint *, const struct digest *);
void fingerprint_release(struct fingerprint *); /* of zeros, too */

/* {"must_match": {...}, "may_differ": {...}} */
void fingerprint_json(const struct fingerprint *, GString *out);
/* The value that comes next; what it lacks is empty. */
void fingerprint_read(struct json *, struct fingerprint *);

/* What must match and does not: "ranks is 2 in BASE and 4 in NEW", all of it; NULL: nothing.  g_free.  The names are
 * those of the sides. */
char *fingerprint_difference(const struct fingerprint *a, const char *name_a, const struct fingerprint *b,
                             const char *name_b);
/* What may differ and does: "commit a1b2 -> c3d4", one after another; NULL: nothing.  g_free */
char *fingerprint_changes(const struct fingerprint *a, const struct fingerprint *b);

#endif
