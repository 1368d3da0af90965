/* profile/report-text.h -- how the summary writes numbers and names, and its sentence on exposed time. */
#ifndef PROFILE_REPORT_TEXT_H
#define PROFILE_REPORT_TEXT_H

#include "profile/report.h"

/* As many decimals as leave three digits of the step, but at least one: the same all over a summary. */
int text_decimals(const struct report *);
/* Texts are the caller's to g_free. */
char *text_number(const char *format, double x);
/* What a loss of a token each means: as unsure as choosing among so many; "185.3", "12998", "1.2e+15". */
char *text_perplexity(double loss);
char *text_ms(int64_t ns, int decimals);
char *text_percent(double x); /* "−1.8 %", with a minus as wide as a digit, and no negative zero */
/* "layer6.feed_forward.out" for its weight; the middle of a long name gives way. */
char *text_param(const struct trace *, uint32_t param);

/* Why communication is exposed on the slowest rank, the biggest cause first, with the bucket that it is
 * about. */
void report_why(const struct report *, GString *out);

#endif
