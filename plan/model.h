/* plan/model.h -- a model: layers, their parameters, and what one costs.  Read from an INI file.
 *
 * Shapes: d = width, h = heads, f = feed-forward width, v = vocabulary, s = sequence length, c = classes,
 * R = rows = samples x s.  Everything is row-major.  What a layer kind has (parameters, saved tensors,
 * scratch, FLOPs) stands in layer.def once; plan and exec both read it there.
 */
#ifndef PLAN_MODEL_H
#define PLAN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "plan/cost.h"

enum layer_kind {
#define LAYER(kind, ...) LAYER_##kind,
#define PARAM(...)
#define SAVED(...)
#define PENDING(...)
#define END(kind)
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
    LAYER_KINDS
};

/* SLOT_ATTENTION_QUERY_WEIGHT, ...: the parameters of a kind, counted from 0 in definition order. */
/* SAVED_ATTENTION_QKV, ...: its saved tensors, counted from 0; PENDING_ATTENTION_QKV, ...: its pending gradients. */
#define LAYER(kind, ...)       enum {
#define PARAM(kind, name, ...) SLOT_##kind##_##name,
#define END(kind)                                                                                            \
    SLOTS_##kind                                                                                             \
    }                                                                                                        \
    ;
#define SAVED(...)
#define PENDING(...)
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef END
#undef SAVED
#undef PENDING
#define LAYER(kind, ...) enum {
#define PARAM(...)
#define SAVED(kind, name, ...) SAVED_##kind##_##name,
#define PENDING(...)
#define END(kind)                                                                                            \
    SAVEDS_##kind                                                                                            \
    }                                                                                                        \
    ;
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef END
#undef SAVED
#undef PENDING
#define LAYER(kind, ...) enum {
#define PARAM(...)
#define SAVED(...)
#define PENDING(kind, name, ...) PENDING_##kind##_##name,
#define END(kind)                                                                                            \
    PENDINGS_##kind                                                                                          \
    }                                                                                                        \
    ;
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef END
#undef SAVED
#undef PENDING

enum dtype { DTYPE_F32, DTYPE_F64, DTYPE_TF32, DTYPES }; /* tf32: f32, whose products may round their inputs */
enum activation { ACT_GELU, ACT_RELU, ACT_GELU_TANH, ACTS };
enum positions { POSITIONS_LEARNED, POSITIONS_SINE, POSITIONS_NONE };
enum task { TASK_TOKENS, TASK_CLASS }; /* a target for each position, or one for each sample */

struct dims {
    uint32_t layers, d, heads, ff, vocab;
    uint32_t seq,
        positions; /* sequence length, 1 for images; rows of the learned position table, at least seq, or 0 */
    uint32_t token_types; /* rows of the token-type table, 0: the model has none */
    uint32_t classes;
    uint32_t image;                    /* pixels along a side, of 3 channels; 0: the model reads tokens */
    uint8_t activation, position_kind; /* enum activation, enum positions */
    uint8_t pre_norm;                  /* y = x + f(norm(x)); else y = norm(x + f(x)) */
    uint8_t embedding_norm, scaled;    /* scaled: what is looked up is multiplied by the square root of d */
    uint8_t fused_qkv, causal, tied;   /* tied: the head's weight is the embedding's */
    uint8_t drop_active;               /* dropout behind the activation too */
    double dropout; /* [0, 1): after the embedding, of attention's probabilities, after each
                       sublayer, after a dense layer */
};

/* Of a layer for images: channels, kernel, pixels along a side. */
struct image {
    uint32_t in, middle, out, kernel;
    uint32_t side_in, side_conv, side_out; /* conv: behind the first product, before a stem pools */
    uint8_t projects;                      /* the input is projected to the output's channels and side */
};

struct param {
    char *name;             /* "layer0.attention.query.weight" */
    uint32_t layer, slot;   /* slot: which of its layer kind's PARAM rows */
    uint32_t rows, cols;    /* a vector has cols = 1 */
    uint64_t numel, offset; /* elements; offset inside the layer's block of parameters */
};

struct layer {
    char *name, *block;
    uint8_t kind;                   /* enum layer_kind */
    uint32_t first_param, n_params; /* definition order */
    uint64_t numel;                 /* elements of the parameter block; 0: it has none */
    struct image image;
};

/* What the command line lays over the file; 0 = as the file says.  A longer sequence than the position table
 * has rows makes the table grow with it; in the file itself that is an error.  No size drags another along:
 * --d-model keeps the heads and the feed-forward width, and is refused if the heads do not divide it.  A size
 * that the model does not have is refused.  dtype: f32 unless laid over. */
struct model_override {
    uint32_t layers, d, heads, ff, vocab, seq;
    uint8_t dtype;
};

struct model {
    char *name, *summary;
    struct dims dims;
    uint8_t dtype, task;
    bool executable; /* false: it can be planned and simulated, not run */
    struct layer *layers;
    struct param *params; /* definition order: that of forward, in which PyTorch's gradients become ready last
                             to first.  named_parameters lists them so too but for nn.TransformerEncoderLayer,
                             where the norm of attention stands behind the feed-forward part. */
    uint32_t n_layers, n_params;
    uint64_t numel;
    /* What it was made from: model_parse makes an equal one of them. */
    char *ini;
    struct model_override override;
};

/* `name` is a built-in model's name or a file's path (it has a slash or ends in .ini).  Errors name file and
 * line, or the option that laid a wrong size over the file.
 *
 * The file: a group [model] with name, summary, task (tokens or class) and the sizes; then, in order, one
 * group a run of layers, whose name becomes the layers', and whose key kind says what they are.  The first
 * one decides the rest:
 *
 *   embedding   layers, d-model, heads, ff, vocab, seq-len, maybe token-types, classes if the task is class.
 * It is followed by encoder, which stands for `layers` pairs of an attention and a feed-forward layer,
 *               "layer0.attention", "layer0.feed_forward" and so on; maybe norm; then head, or pooler and
 * classifier, as the task demands.  Maybe, the first value being what holds without the key: norm = post |
 * pre               of a sublayer: behind its sum, or before it position-kind = learned | sine | none learned
 * needs positions, the rows of the table embedding-norm = yes | no embedding-scale = one | sqrt-d  what words
 * are multiplied by qkv = separate | fused          three parameters, or one causal = no | yes a position
 * sees those before it only tied = no | yes                 the head multiplies by the word embedding,
 * without bias activation-dropout = no | yes   as nn.TransformerEncoderLayer has it bag         layers,
 * d-model, vocab, seq-len, classes.  The mean of a sample's words; followed by dense, which stands for
 * `layers` layers, "layer0.dense" and so on, and classifier. stem        image, the pixels along a side, and
 * classes.  Its keys channels and kernel are those of a convolution of stride 2 before a pooling of stride 2.
 * Followed by runs of basic or bottleneck with the keys blocks, channels and stride (of the first block),
 * "layer1.0", "layer1.1" and so on; then classifier.  Parameters have torchvision's names.
 *
 * All but images have activation = gelu | relu | gelu-tanh and dropout, a number from 0 to 0.99, 0 without
 * the key. */
struct model *model_load(const char *name, const struct model_override *, GError **);
struct model *model_parse(const char *text, const char *file, const struct model_override *, GError **);
void model_free(struct model *);
char **model_list(void); /* names of the built-in ones, sorted; g_strfreev */

/* What layer.def says of a layer, evaluated for `samples` samples.  Counts are elements. */
uint64_t layer_out_numel(const struct model *, uint32_t layer, uint32_t samples);
uint64_t layer_scratch_numel(const struct model *, uint32_t layer, uint32_t samples);
uint64_t layer_saved_numel(const struct model *, uint32_t layer,
                           uint32_t samples); /* all pieces, each padded to 16 */
uint64_t layer_saved_offset(const struct model *, uint32_t layer, uint32_t samples,
                            unsigned piece); /* SAVED_kind_name */
/* Of the gradients that a backward of input gradients leaves to that of weight gradients; likewise. */
uint64_t layer_pending_numel(const struct model *, uint32_t layer, uint32_t samples);
uint64_t layer_pending_offset(const struct model *, uint32_t layer, uint32_t samples,
                              unsigned piece); /* PENDING_kind_name */
/* Products of forward and backward; how many.  Room for LAYER_GEMMS_MAX and twice that.  Backward is its input gradients
 * and its weight gradients; of the first layer, the latter are all of it. */
unsigned layer_forward_gemms(const struct model *, uint32_t layer, uint32_t samples, struct gemm *);
unsigned layer_backward_gemms(const struct model *, uint32_t layer, uint32_t samples, struct gemm *);
unsigned layer_input_gemms(const struct model *, uint32_t layer, uint32_t samples, struct gemm *);
unsigned layer_weight_gemms(const struct model *, uint32_t layer, uint32_t samples, struct gemm *);
#define LAYER_GEMMS_MAX (COST_GEMMS / 2)
uint64_t layer_forward_flops(const struct model *, uint32_t layer, uint32_t samples);
uint64_t layer_backward_flops(const struct model *, uint32_t layer, uint32_t samples);
uint64_t layer_input_flops(const struct model *, uint32_t layer, uint32_t samples);
uint64_t layer_weight_flops(const struct model *, uint32_t layer, uint32_t samples);
uint32_t layer_forward_kernels(const struct model *, uint32_t layer);
uint32_t layer_backward_kernels(const struct model *, uint32_t layer);
uint32_t layer_input_kernels(const struct model *, uint32_t layer);
uint32_t layer_weight_kernels(const struct model *, uint32_t layer);
/* "attention d512 h8 s32 f32": equal shapes cost the same for equal rows. Caller frees. */
char *layer_shape(const struct model *, uint32_t layer);

/* A PARAM row of layer.def, evaluated. */
/* Normal of deviation 0.02, or for dense layers 1 / sqrt(cols); zeros; ones. */
enum init { INIT_NORMAL, INIT_DENSE, INIT_ZERO, INIT_ONE };
struct slot {
    const char *name;
    uint32_t rows, cols; /* a product of 0: the model has no such parameter */
    uint8_t place, init; /* its turn in the layer's block; enum init */
};
#define LAYER_SLOTS_MAX 16
unsigned layer_slots(const struct model *, uint32_t layer,
                     struct slot *slots); /* in definition order; how many */

/* Offset, in elements, of parameter `slot` (SLOT_kind_name) in its layer's block. */
uint64_t layer_param_offset(const struct model *, uint32_t layer, unsigned slot);
enum init param_init(const struct model *, uint32_t param);

/* Whether no size in bytes and no FLOP count of a step on `samples` samples comes near the range of its type:
 * the layers' sum of layer.def's numbers is below 2^58, the rows of the model and of any product below 2^31. */
bool model_fits(const struct model *, uint32_t samples);

/* Of the tokens or pixels and the targets. */
uint64_t model_input_bytes(const struct model *, uint32_t samples);

size_t dtype_bytes(unsigned dtype);
const char *dtype_name(unsigned dtype);           /* "f32" */
unsigned dtype_find(const char *name); /* DTYPES: there is none of that name */
const char *layer_kind_name(unsigned kind);       /* "attention" */
const char *activation_name(unsigned activation); /* "gelu" */

#endif
