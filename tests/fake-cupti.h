/* tests/fake-cupti.h -- a libcupti of which a test says what it answers and what it records. */
#ifndef TESTS_FAKE_CUPTI_H
#define TESTS_FAKE_CUPTI_H

#include <cupti.h>
#include <glib.h>

struct fake_cupti {
    GString *calls;      /* names, each followed by a blank */
    const char *failing; /* name of the call that fails, or "Enable:" and a kind; NULL: none */
    CUptiResult result;  /* that it fails with */
    const char *holder;
    uint32_t version;
    int driver;
    size_t dropped;
    GArray *ids;            /* uint64_t: the stack of external ids; one thread */
    GByteArray *records[2]; /* of the next flush, a buffer each */
};
extern struct fake_cupti fake;

void fake_reset(void);
void fake_record(unsigned buffer, const void *record, size_t size);

#endif
