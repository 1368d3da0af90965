/* cli/summary.h -- the head of the summary, and what a report says of options and environment. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "cli/job.h"

/* Key, value, ... ended by NULL, as struct report takes them. */
struct summary {
    const char *const *options, *const *environment;
    GPtrArray *option_rows, *environment_rows;
};

void summary_init(struct summary *, const struct job *, const struct options *);
void summary_release(struct summary *);

/* Of this machine and moment, what may differ between runs that are compared: key, value, ... NULL; g_strfreev. */
char **summary_circumstances(void);

/* Three lines: what runs on what, the model and batch, the link or the prices. */
struct trace;
void summary_head(const struct job *, const struct options *, const struct trace *, GString *out);

#endif
