/* plan/op.h -- the vocabulary that a plan and a trace share.
 *
 * profile and viz may include this header and plan/cost.h, and nothing else of plan, so what a view needs
 * to explain a span is here: the tag of an operation and the tables that its numbers index.
 * Sizes are bytes; an index that does not apply is OP_NONE (32 bits) or LAYER_NONE (16 bits).
 */
#ifndef PLAN_OP_H
#define PLAN_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#define OP_NONE    UINT32_MAX
#define LAYER_NONE UINT16_MAX
#define STAGE_NONE UINT16_MAX

enum {
    PLAN_RANKS_MAX = 4096
}; /* of a plan, and so of a trace: hops and chunks of a ring are numbered in 16 bits */

enum op_kind {
#define OP(name, label, lane, phase, description) OP_##name,
#include "plan/op.def"
#undef OP
    OP_KINDS
};

enum lane_class { LANE_COMPUTE, LANE_COMM, LANE_COPY, LANE_HOST, LANE_CLASSES };
enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_COMM, PHASE_OPTIMIZER, PHASES, PHASE_NONE = PHASES };
/* whole: one gang, the engine's own library */
enum allreduce {
    ALLREDUCE_WHOLE,
    ALLREDUCE_RING,
    ALLREDUCE_TREE,
    ALLREDUCE_REDUCE_BROADCAST,
    ALLREDUCE_ALL_TO_ALL,
    ALLREDUCES
};

/* What a hop is part of. */
enum collective {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_SCATTER,
    COLLECTIVE_GATHER,
    COLLECTIVE_ALLGATHER,
    COLLECTIVES
};

/* Two actions of a pipeline that run as one: forward beside backward. */
enum pair { PAIR_NONE, PAIR_FIRST, PAIR_SECOND };

/* What an operation is, wherever it shows up. */
struct op_tag {
    uint8_t kind;            /* enum op_kind */
    uint8_t algo;            /* enum allreduce of which this op is the whole or a hop */
    uint8_t collective;      /* enum collective of a hop: algo is not ALLREDUCE_WHOLE */
    uint8_t pair;            /* enum pair */
    uint16_t layer0, layer1; /* layers [layer0, layer1), indexes of tables.layers; LAYER_NONE for neither */
    uint16_t chunk, hop;     /* of a lowered collective: chunk that this member receives, number of the hop */
    uint16_t stage;          /* index of tables.stages; means nothing where there are none */
    uint32_t micro; /* micro-batch, counted over all steps of the plan; OP_NONE: all of the step's samples */
    uint32_t version; /* of the weights that it uses: optimizer steps of the plan before them */
    uint32_t bucket;  /* index of tables.buckets */
    uint32_t step;    /* step inside the plan; in a trace, the measured step, from 0 */
    uint32_t gang;    /* rendezvous: ops of one gang start and end together */
    uint32_t coll;    /* the collective before lowering, numbered over the plan */
    uint64_t bytes;   /* payload that this member sends; of RECV and RECV_ADD, receives */
};

/* One FIFO of one rank.  Ops of a lane run one at a time, in order. */
struct lane {
    const char *name; /* "compute", "comm" */
    uint32_t rank, device;
    uint32_t peer; /* of a point-to-point channel, OP_NONE otherwise */
    uint8_t cls;   /* enum lane_class */
    uint32_t node; /* machine that the device is in, from 0 */
};

/* A layer of the model as views need it.  Consecutive layers of one block (an encoder layer is an attention
 * and a feed-forward layer) are drawn as one. */
struct layer_row {
    const char *name;  /* "layer6.attention" */
    const char *block; /* "layer6" */
    uint32_t first_param, n_params;
};

/* A parameter tensor, in definition order. */
struct param_row {
    const char *name; /* "layer6.attention.query.weight" */
    uint64_t bytes;
    uint32_t layer;
    uint32_t bucket; /* OP_NONE where there are no buckets */
};

/* A gradient bucket; buckets are in launch order. */
struct bucket_row {
    uint64_t bytes;
    uint32_t first_param, n_params; /* slice of tables.bucket_params */
    uint32_t closed_by;             /* parameter that filled it; OP_NONE: it holds what was left */
};

/* A stage of a pipeline: layers [layer0, layer1) on a rank.  Stages are in the order of the model. */
struct stage_row {
    uint32_t rank, layer0, layer1;
};

/* The tables.  Strings live in `strings`; init leaves everything empty, release frees all of it. */
struct tables {
    const char *mode, *model; /* "ddp", "bert-base" */
    const char *schedule;     /* of a pipeline, "1f1b"; NULL elsewhere */
    uint32_t n_ranks, n_lanes, n_layers, n_params, n_buckets, n_stages;
    uint32_t n_rounds; /* training steps that are chained in the plan; 0 counts as 1 */
    struct lane *lanes;
    struct layer_row *layers;
    struct param_row *params;
    struct bucket_row *buckets;
    struct stage_row *stages;
    uint32_t *bucket_params; /* n_params at most: parameter ids, bucket after bucket */
    GStringChunk *strings;
};

void tables_init(struct tables *);
void tables_release(struct tables *);
void tables_copy(struct tables *to, const struct tables *from); /* `to` is uninitialised; deep */
const char *tables_intern(struct tables *, const char *);       /* the table's own copy; NULL stays NULL */

const char *op_label(unsigned kind); /* "F"; "?" out of range */
const char *op_name(unsigned kind);  /* "FWD" */
const char *op_description(unsigned kind);
enum lane_class op_lane_class(unsigned kind);
enum phase op_phase(unsigned kind); /* PHASE_NONE: of none, or out of range */
const char *phase_name(unsigned phase);           /* "forward" */
const char *allreduce_name(unsigned algo);        /* "ring" */
const char *collective_name(unsigned collective); /* "broadcast" */
enum collective op_collective(unsigned kind);     /* of a kind that is one; COLLECTIVES */
const char *lane_class_name(unsigned lane_class); /* "compute" */

#endif
