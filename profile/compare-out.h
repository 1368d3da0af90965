/* profile/compare-out.h -- a comparison for people and for machines: table, JSON, JUnit, Markdown,
 * annotations of GitHub. All say the same verdicts; whatever stands in names and reasons, the result is
 * well-formed. */
#ifndef PROFILE_COMPARE_OUT_H
#define PROFILE_COMPARE_OUT_H

#include "profile/where.h"

struct compared_sides {
    struct side base, new;
    bool strict;         /* what is inconclusive fails */
    const char *command; /* "compare", "gate": named by JUnit, Markdown, annotations */
    const struct where *where; /* where their difference is; NULL: unknown */
};

void comparison_print(const struct comparison *, const struct compared_sides *, GString *out);
void comparison_json(const struct comparison *, const struct compared_sides *,
                     GString *out); /* parprof.compare/1 */
/* A test case a metric that is gated: SLOWER is a failure, AMBIGUOUS and INCOMPARABLE are skipped, or
 * failures if strict. */
void comparison_junit(const struct comparison *, const struct compared_sides *, GString *out);
/* At most `room` bytes; GitHub takes 1 MiB a step. */
#define MARKDOWN_ROOM ((gsize)1 << 20)
void comparison_markdown(const struct comparison *, const struct compared_sides *, gsize room, GString *out);
/* Lines "::error ...", one a metric that fails: fewer than the 10 that GitHub shows. */
void comparison_annotations(const struct comparison *, const struct compared_sides *, GString *out);

/* --- what the files of this have in common */

bool compared_fails(const struct compared_sides *, int verdict);
char *compared_number(unsigned metric, double x); /* "102.1", of ms, MiB or percent; g_free */
const char *compared_unit(unsigned metric);       /* "ms" */
char *compared_change(const struct compared *,
                      unsigned metric);           /* "+10.0 %"; of what is per cent "+1.2 points" */
char *compared_interval(const struct compared *); /* "+8.1 to +11.9 %"; "-": exact */
char *compared_runs(const struct side *);         /* "base.json", or "a.json and 3 more" */
char *compared_where(const struct comparison *, const struct compared_sides *); /* where_sentence, if it is worth
                                                                                   saying; else NULL */
char *compared_armed(const struct comparison *);  /* "armed: 3 metrics, n = 12, detects >= 2.4 %" */

#endif
