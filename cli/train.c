#include "cli/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec/state.h"
#include "exec/text.h"
#include "plan/schedule.h"
#include "profile/clock.h"

/* PyTorch's tutorial takes so many batches an epoch, of a text that has more, and says how it goes as often.
 */
enum { BATCHES_SYNTHETIC = 50, LOG_EVERY = 10 };

bool train_pick(struct job *job, const struct options *o, GError **error)
{
    static const enum option_id of_epochs[] = {OPTION_EPOCH_BATCHES, OPTION_LOG_EVERY, OPTION_LR_STEP,
                                               OPTION_EVAL_BATCH};
    job->training.epochs = option_number(o, OPTION_EPOCHS, 0);
    job->training.batches = option_number(o, OPTION_EPOCH_BATCHES, 0);
    job->training.log_every = option_number(o, OPTION_LOG_EVERY, LOG_EVERY);
    job->training.eval_batch = option_number(o, OPTION_EVAL_BATCH, job->shape.batch);
    job->training.lr_step = option_number(o, OPTION_LR_STEP, 1);
    for (unsigned i = 0; !job->training.epochs && i < G_N_ELEMENTS(of_epochs); i++)
        if (o->given[of_epochs[i]] && !o->offered[of_epochs[i]]) {
            g_set_error(error, OPTION_ERROR, 0, "--%s belongs to training over epochs: give --%s too",
                        option_name(of_epochs[i]), option_name(OPTION_EPOCHS));
            return false;
        }
    if (!job->training.epochs)
        return true;
    const char *foreign = job->n_overlaps > 1          ? "several overlaps"
                          : job->shape.rounds > 1      ? "--chain"
                          : job->shape.first_iteration ? "--first-iteration"
                                                       : NULL;
    if (foreign)
        g_set_error(error, OPTION_ERROR, 0,
                    "--%s trains one model on: it does not go with %s, leave that out",
                    option_name(OPTION_EPOCHS), foreign);
    return !foreign;
}

struct school {
    const struct job *job;
    const struct options *o;
    const struct shape *shape;
    struct shape eval;
    struct training *training;
    struct state *state, *best; /* after the last epoch, after the best; NULL: before the first */
    uint32_t batches,
        steps_apart; /* of an epoch: those taken, and those from one's first to the next one's */
    /* the epoch under way */
    uint32_t epoch, done, logged;
    double lr, sum, logged_sum;
    int64_t first_ns, last_ns, logged_ns;
};

/* --- rows */

static void say(const struct school *s, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void say(const struct school *s, const char *format, ...)
{
    if (!s->job->say)
        return;
    va_list args;
    va_start(args, format);
    execute_clear_progress();
    vfprintf(s->job->say, format, args);
    fflush(s->job->say);
    va_end(args);
}

static bool has_perplexity(const struct school *s)
{
    return s->job->model->task == TASK_TOKENS && !s->shape->loss_sum;
}

/* "loss  6.25 | ppl   517.30" */
static char *loss_columns(const struct school *s, const char *before, double loss)
{
    if (!isfinite(loss))
        return g_strdup_printf("%sloss not finite", before);
    if (!has_perplexity(s) || !isfinite(exp(loss)))
        return g_strdup_printf("%sloss %5.2f", before, loss);
    return g_strdup_printf("%sloss %5.2f | %sppl %8.2f", before, loss, before, exp(loss));
}

static void learned(void *user, double loss)
{
    struct school *s = user;
    const int64_t now_ns = clock_ns();
    s->sum += loss;
    s->logged_sum += loss;
    s->done++;
    s->last_ns = now_ns;
    if (s->done - s->logged < s->job->training.log_every && s->done < s->batches)
        return;
    const uint32_t n = s->done - s->logged;
    g_autofree char *columns = loss_columns(s, "", s->logged_sum / n);
    g_autofree char *lr = g_strdup_printf(s->lr >= 0.1 ? "%.2f" : "%.3g", s->lr);
    say(s, "| epoch %3" PRIu32 " | %5" PRIu32 "/%5" PRIu32 " batches | lr %s | ms/batch %5.2f | %s\n",
        s->epoch + 1, s->done, s->batches, lr, (double)(now_ns - s->logged_ns) / 1e6 / n, columns);
    s->logged = s->done;
    s->logged_sum = 0;
    s->logged_ns = now_ns;
}

static void begun(void *user)
{
    struct school *s = user;
    s->first_ns = s->logged_ns = clock_ns();
}

/* --- evaluation */

struct exam {
    double sum;
    uint32_t n;
};

static void examined(void *user, double loss)
{
    struct exam *exam = user;
    exam->sum += loss;
    exam->n++;
}

/* As many whole batches as there are, no more than an epoch has. */
static bool count_batches(const struct school *s, enum data_part part, uint32_t *n, GError **error)
{
    struct text_part data;
    *n = s->batches;
    if (!s->job->text)
        return true;
    if (!text_part(s->job->text, part, s->eval.batch, &data, error))
        return false;
    *n = (uint32_t)MIN(data.n / data.batch, s->batches);
    return true;
}

static bool evaluate(const struct school *s, enum data_part part, const struct state *state, double *loss,
                     uint32_t *samples, GError **error)
{
    struct exam exam = {0};
    struct outcome outcome;
    uint32_t n;
    if (!count_batches(s, part, &n, error))
        return false;
    const struct execution execution = {.shape = &s->eval,
                                        .ahead = n - 1,
                                        .steps = 1,
                                        .part = part,
                                        .untraced = true,
                                        .begin = state,
                                        .learned = examined,
                                        .user = &exam,
                                        .what = part == DATA_VALID ? "validating" : "testing"};
    const bool ok = execute(s->job, s->o, &execution, &outcome, error);
    outcome_release(&outcome);
    *loss = exam.sum / exam.n;
    *samples = n * s->eval.batch;
    return ok;
}

/* Without dropout, forward alone, and whatever order training takes: all micro-batches forward, one stage a
 * rank. */
static bool make_eval_shape(struct school *s, GError **error)
{
    const struct model *m = s->job->model;
    struct model *still = model_parse(m->ini, m->name, &m->override, error);
    if (!still)
        return false;
    still->dims.dropout = 0;
    s->eval = *s->shape;
    s->eval.model = still;
    s->eval.batch = s->job->training.eval_batch;
    s->eval.forward_only = true;
    s->eval.optimizer = OPTIMIZER_SGD;
    s->eval.overlap = OVERLAP_NONE;
    s->eval.bucket_view = s->eval.clip = s->eval.loss_sum = false;
    s->eval.accumulate = 1;
    s->eval.gather = GATHER_LOGITS;
    s->eval.checkpoint = CHECKPOINT_NEVER;
    if (s->eval.chunks) {
        s->eval.schedule = schedule_find("gpipe");
        s->eval.actions = NULL;
        s->eval.stages_per_rank = 1;
    }
    return true;
}

/* --- epochs */

static bool count_epoch(struct school *s, GError **error)
{
    struct text_part data;
    const uint32_t asked = s->job->training.batches;
    s->steps_apart = s->batches = asked ? asked : BATCHES_SYNTHETIC;
    if (!s->job->text)
        return true;
    if (!text_part(s->job->text, DATA_TRAIN, s->shape->batch, &data, error))
        return false;
    s->steps_apart = (uint32_t)((data.n + data.batch - 1) / data.batch);
    s->batches = asked ? MIN(asked, s->steps_apart) : s->steps_apart;
    return true;
}

static void begin_epoch(struct school *s, uint32_t epoch)
{
    s->epoch = epoch;
    s->done = s->logged = 0;
    s->sum = s->logged_sum = 0;
    s->lr = s->job->lr * pow(s->job->training.lr_step, epoch);
}

/* Its last steps are measured; they take the place of an epoch's before. */
static bool train_epoch(struct school *s, struct outcome *out, GError **error)
{
    struct outcome outcome;
    struct state *end = state_new(s->job->model);
    const uint32_t measured = MIN(option_number(s->o, OPTION_STEPS, 10), s->batches);
    const struct execution execution = {.shape = s->shape,
                                        .warmup = option_number(s->o, OPTION_WARMUP, 2),
                                        .ahead = s->batches - measured,
                                        .steps = measured,
                                        .lr = s->lr,
                                        .data_step = s->epoch * s->steps_apart,
                                        .part = DATA_TRAIN,
                                        .begin = s->state,
                                        .end = end,
                                        .begun = begun,
                                        .learned = learned,
                                        .user = s,
                                        .what = "training"};
    const bool ok = execute(s->job, s->o, &execution, &outcome, error);
    if (outcome.there) {
        outcome_release(out);
        *out = outcome;
    }
    state_unref(s->state);
    s->state = end;
    return ok;
}

static void end_training(struct school *s)
{
    struct training *t = s->training;
    t->epochs[t->trained++] = (struct epoch){.batches = s->done,
                                             .lr = s->lr,
                                             .loss = s->sum / s->done,
                                             .ms_batch = (double)(s->last_ns - s->first_ns) / 1e6 / s->done};
}

static void end_epoch(struct school *s, double valid_loss, double seconds)
{
    struct training *t = s->training;
    t->epochs[t->n].valid_loss = valid_loss;
    t->epochs[t->n].seconds = seconds;
    if (t->n == 0 || valid_loss < t->epochs[t->best].valid_loss ||
        (isnan(t->epochs[t->best].valid_loss) && !isnan(valid_loss))) {
        t->best = t->n;
        state_unref(s->best);
        s->best = state_ref(s->state);
    }
    t->n++;
    g_autofree char *columns = loss_columns(s, "valid ", valid_loss), *rule = g_strnfill(89, '-');
    say(s, "%s\n| end of epoch %3" PRIu32 " | time: %5.2fs | %s\n%s\n", rule, s->epoch + 1, seconds, columns,
        rule);
}

static bool one_epoch(struct school *s, struct outcome *out, GError **error)
{
    const int64_t began_ns = clock_ns();
    double valid_loss;
    if (!train_epoch(s, out, error))
        return false;
    if (s->done < s->batches)
        return true;
    end_training(s);
    if (execute_cancelled())
        return true;
    if (!evaluate(s, DATA_VALID, s->state, &valid_loss, &s->training->valid_samples, error)) {
        g_prefix_error(error, "validating with --%s %u: ", option_name(OPTION_EVAL_BATCH), s->eval.batch);
        return false;
    }
    if (!execute_cancelled())
        end_epoch(s, valid_loss, (double)(clock_ns() - began_ns) / 1e9);
    return true;
}

static bool test_best(struct school *s, GError **error)
{
    struct training *t = s->training;
    uint32_t samples;
    if (!t->n || execute_cancelled())
        return true;
    if (!evaluate(s, DATA_TEST, s->best, &t->test_loss, &samples, error))
        return false;
    if (execute_cancelled())
        return true;
    t->test_samples = samples;
    g_autofree char *columns = loss_columns(s, "test ", t->test_loss), *rule = g_strnfill(89, '=');
    say(s, "%s\n| End of training | %s\n%s\n", rule, columns, rule);
    return true;
}

/* What would fail in the end fails before it begins: parts of the text that are too small, a shape that
 * cannot be evaluated. */
static bool prepare(struct school *s, GError **error)
{
    uint32_t n;
    struct plan own;
    if (!make_eval_shape(s, error) || !count_epoch(s, error) || !count_batches(s, DATA_VALID, &n, error) ||
        !count_batches(s, DATA_TEST, &n, error))
        return false;
    if (!job_plan(s->job, &s->eval, &own, error)) {
        g_prefix_error(error, "--%s %u cannot be evaluated: ", option_name(OPTION_EVAL_BATCH), s->eval.batch);
        return false;
    }
    job_plan_release(s->job, &own);
    return true;
}

bool train(const struct job *job, const struct options *o, const struct shape *shape,
           struct training *training, struct outcome *out, GError **error)
{
    struct school s = {.job = job, .o = o, .shape = shape, .training = training};
    *out = (struct outcome){0};
    *training = (struct training){.epochs = g_new0(struct epoch, job->training.epochs),
                                  .asked = job->training.epochs,
                                  .test_loss = NAN};
    bool ok = prepare(&s, error);
    for (uint32_t epoch = 0; ok && epoch < job->training.epochs && !execute_cancelled(); epoch++) {
        begin_epoch(&s, epoch);
        ok = one_epoch(&s, out, error);
    }
    ok = ok && test_best(&s, error);
    state_unref(s.state);
    state_unref(s.best);
    if (s.eval.model)
        model_free((struct model *)s.eval.model);
    return ok;
}
