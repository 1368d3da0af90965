/* profile/facts.h -- keys of a trace's labels and facts that mean something to reports.  Numbers are decimal
 * integers; a fact that is not known is absent, never 0. */
#ifndef PROFILE_FACTS_H
#define PROFILE_FACTS_H

/* A label: "from events, because WHY", where CUPTI gave no times.  Absent: they are the engine's own. */
#define LABEL_TIMES "times"

/* Labels of what went wrong: clocks that heat or a power brake held down, records of CUPTI that are missing or odd. */
#define LABEL_CLOCKS  "clocks"
#define LABEL_RECORDS "records"

/* A label: "30 % of each computation, injected", by --inject-delay. */
#define LABEL_DELAY "delay"

/* A label of a simulation: "2 ranks share each device". */
#define LABEL_SHARING "sharing"

/* A label: "2 ranks share 1 GPU". */
#define LABEL_RANKS "ranks"
/* Of a profile of another program: the profiler's steps that it has, what of it was left out, and whether the clocks of its
 * ranks are known to agree. */
#define LABEL_STEPS       "steps"
#define LABEL_UNTIMED     "events without a time"
#define LABEL_OUTSIDE     "events outside of steps"
#define LABEL_RANK_CLOCKS "clocks of ranks"

/* A fact: how many steps came before the measured ones. */
#define FACT_WARMUP "warm-up steps"

/* A fact of a simulated device: "40.0 GiB".  A real one has it in its description, "gpu 0". */
#define FACT_DEVICE_MEMORY "device memory"

/* Facts: what CUPTI recorded and what it did not (struct collect_counts). */
#define FACT_DROPPED      "records dropped"
#define FACT_ZERO         "records without times"
#define FACT_INVERTED     "records that end before they start"
#define FACT_EARLY        "kernels before their launch"
#define FACT_UNATTRIBUTED "records of no operation"
#define FACT_OVERHEAD_NS  "tracing overhead ns"

/* A fact a bucket: how long NCCL itself expects its all-reduce to take.  printf format of the key; the
 * argument is the bucket, a uint32_t. */
#define FACT_NCCL_ESTIMATE_NS "nccl estimate ns of bucket %u"

#endif
