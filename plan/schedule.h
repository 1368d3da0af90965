/* plan/schedule.h -- pipeline schedules: who computes what in which order.
 *
 * A schedule is an order of actions for each rank, without time and without communication; plan/pipeline.c
 * makes a plan of it.  One file a schedule, each ending in one const descriptor; a schedule from a file
 * (plan/schedule-csv.c) is the same list of actions.
 *
 * Stages are numbered in the order of the model, 0 to ranks * stages_per_rank - 1, micro-batches from 0.
 */
#ifndef PLAN_SCHEDULE_H
#define PLAN_SCHEDULE_H

#include "plan/mode.h"

/* F forward, B backward, which is I and W together: I the gradient by the input, W by the weights. */
enum action_kind { ACTION_F, ACTION_B, ACTION_I, ACTION_W, ACTION_KINDS };
char action_letter(unsigned kind);

struct action {
    uint32_t micro;
    uint16_t stage;
    uint8_t kind;   /* enum action_kind */
    uint8_t paired; /* a forward that runs as one with the backward or input gradient after it on its rank */
};

/* The actions of rank r are list[first[r] .. first[r + 1]).  actions_init before, actions_release after. */
struct actions {
    uint32_t n_ranks, n_stages, n_micro;
    uint32_t *first; /* n_ranks + 1 */
    uint32_t *rank;  /* by stage */
    struct action *list;
    uint32_t room; /* allocated; private */
};

/* What fits: see plan/op.h for ranks. */
#define SCHEDULE_STAGES_MAX  65535u
#define SCHEDULE_MICRO_MAX   (1u << 24)
#define SCHEDULE_ACTIONS_MAX (1u << 26)

/* With no rank filled: n_ranks counts those that are; `rank` is the caller's to fill. */
void actions_init(struct actions *, uint32_t ranks, uint32_t stages, uint32_t micro);
void actions_release(struct actions *);
/* Ranks are filled in order, each between begin and next. */
void actions_begin_rank(struct actions *);
void actions_add(struct actions *, enum action_kind, uint32_t stage, uint32_t micro);
void actions_add_pair(struct actions *, enum action_kind, uint32_t stage, uint32_t micro,
                      enum action_kind then, uint32_t then_stage, uint32_t then_micro);
void actions_next_rank(struct actions *);

/* What a schedule is asked for: P ranks, V stages a rank, m micro-batches. */
struct pipe {
    uint32_t ranks, per_rank, micro;
};

struct schedule {
    const char *name, *summary;
    bool v_shaped;     /* rank r has stages r and 2P-1-r; else stage s is on rank s mod P */
    bool asynchronous; /* no flush: each micro-batch is a mini-batch of its own, with an optimizer step of its
                          own */
    bool several;      /* it is for several stages a rank */
    uint8_t stages;    /* per rank: so many and no other number; 0: any */
    /* NULL where any size is legal; else false with the rule and the nearest legal value, naming the option.
     */
    bool (*check)(const struct pipe *, GError **);
    void (*order)(const struct pipe *, uint32_t rank, struct actions *); /* adds the rank's actions */
};

extern const struct schedule *const schedules[];        /* ends with NULL; the first is the default */
const struct schedule *schedule_find(const char *name); /* NULL if there is none */

/* What any schedule refuses, then what this one does: ranks, stages and micro-batches out of range, fewer
 * micro-batches than it needs. */
bool schedule_check(const struct schedule *, const struct pipe *, GError **);
/* The order that mode pipeline plans for a legal shape.  mode-pipeline.c */
void pipeline_order(const struct shape *, struct actions *);
/* Of a legal size. */
void schedule_order(const struct schedule *, const struct pipe *, struct actions *);

/* For checks.  At least so many micro-batches, else `what` is the rule. */
bool schedule_needs_micro(const struct pipe *, uint32_t least, const char *what, GError **);
/* Interleaved stages take turns in rounds of g = m / max(1, m div P) micro-batches, which must divide m:
 * PyTorch's rule. */
uint32_t schedule_round(const struct pipe *);
bool schedule_check_rounds(const struct pipe *, GError **);

/* Each (stage, micro-batch) once F and once B or once I and W, on the stage's rank, no micro-batch or stage
 * left out; and run in this order, with messages between them, no rank waits for ever: F needs the F of the
 * stage before, B and I need the F of their stage and the B or I of the stage behind, W needs its I; a pair
 * begins when both have what they need and delivers both at its end.  The error names the first offending
 * action as "rank 2, action 5 (3F1)"; of a deadlock, one that is in the circle. */
bool actions_check(const struct actions *, GError **);

/* The same for who says otherwise where an action stands.  rank or action is ACTION_NONE where there is none:
 * of what is missing.  Frees nothing; `what` is the caller's. */
#define ACTION_NONE UINT32_MAX
struct actions_fault {
    uint32_t rank, action; /* the action's place on its rank, from 0 */
    char *what;
};
bool actions_prove(const struct actions *, struct actions_fault *);
char *action_text(const struct action *); /* "3F1" */

/* PyTorch's schedule CSV (torch.distributed.pipelining): a row a rank, tokens as 2F0, 0I1, 3W2, 1B4,
 * (0F3;7B1)OVERLAP_F_B; blanks are idle time.  Communication tokens (SEND_F, RECV_B, UNSHARD, ...) are
 * skipped: what is sent follows from the actions.  Errors name file, line and token. */
bool actions_read_csv(const char *text, size_t n, const char *name, struct actions *, GError **);
void actions_write_csv(const struct actions *, GString *out);

#endif
