/* The event loop of shared resources against the sweep, closed forms, and a slow simulator that knows only
 * the definition: at every instant the rates of all running ops are found anew by raising them together. */
#include <math.h>
#include <string.h>

#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"
#include "tests/timing-plan.h"

enum { PLANS = 300, MOST_OPS = 1000, PLACES = 64 };

/* --- the slow simulator */

enum resource_kind { CORE, DEVICE, LINK_OUT, LINK_IN, BUS, CARD_OUT, CARD_IN, RESOURCE_KINDS };

struct slow {
    const struct plan *plan;
    const struct cost *cost;
    const struct sharing *sharing;
    double now, start[MOST_OPS], end[MOST_OPS];
    bool ready[MOST_OPS], done[MOST_OPS], begun[MOST_OPS];  /* begun, and the rest: by task */
    double rest[MOST_OPS], work[MOST_OPS], begin[MOST_OPS]; /* what is left */
    double rate[MOST_OPS], speed[MOST_OPS];
    double weight[MOST_OPS][RESOURCE_KINDS * PLACES];
    double capacity[RESOURCE_KINDS * PLACES];
};

static const struct lane *lane_of(const struct plan *plan, uint32_t op)
{
    return &plan->t.lanes[plan->ops[op].lane];
}

static uint32_t task_of(const struct plan *plan, uint32_t op)
{
    for (uint32_t i = 0; i < op && plan->ops[op].tag.gang != OP_NONE; i++)
        if (plan->ops[i].tag.gang == plan->ops[op].tag.gang &&
            lane_of(plan, i)->rank < lane_of(plan, op)->rank)
            op = i;
    for (uint32_t i = 0; i < plan->n_ops && plan->ops[op].tag.gang != OP_NONE; i++)
        if (plan->ops[i].tag.gang == plan->ops[op].tag.gang &&
            lane_of(plan, i)->rank < lane_of(plan, op)->rank)
            op = i;
    return op;
}

static bool is_member(const struct plan *plan, uint32_t op, uint32_t task)
{
    return op == task ||
           (plan->ops[op].tag.gang != OP_NONE && plan->ops[op].tag.gang == plan->ops[task].tag.gang);
}

static uint32_t members(const struct plan *plan, uint32_t task, uint32_t *ops)
{
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < plan->t.n_ranks; rank++)
        for (uint32_t i = 0; i < plan->n_ops; i++)
            if (is_member(plan, i, task) && lane_of(plan, i)->rank == rank)
                ops[n++] = i;
    return n;
}

static void weigh_transfer(struct slow *s, uint32_t task, const struct lane *from, const struct lane *to,
                           double part)
{
    double *w = s->weight[task];
    const struct cluster *c = s->sharing->cluster;
    if (from->node != to->node) {
        w[CARD_OUT * PLACES + from->node * 8 + from->device % 2 % c->net_cards]++;
        w[CARD_IN * PLACES + to->node * 8 + to->device % 2 % c->net_cards]++;
    } else if (from->device != to->device && c->link_shared)
        w[BUS * PLACES + from->node] += part;
    else if (from->device != to->device) {
        w[LINK_OUT * PLACES + from->device] += part;
        w[LINK_IN * PLACES + to->device] += part;
    }
}

static void weigh(struct slow *s, uint32_t task)
{
    const struct plan *plan = s->plan;
    uint32_t ops[MOST_RANKS], n = members(plan, task, ops);
    bool far = false, sends = plan->ops[ops[0]].tag.kind != OP_EXCHANGE;
    for (uint32_t i = 0; i < n; i++) {
        const struct lane *lane = lane_of(plan, ops[i]);
        far |= lane->node != lane_of(plan, ops[0])->node;
        if (plan->ops[ops[i]].tag.kind != OP_SEND && s->sharing->cores > 0)
            s->weight[task][CORE * PLACES +
                            (s->sharing->lane_core ? s->sharing->lane_core[plan->ops[ops[i]].lane] : 0)]++;
    }
    if (!s->sharing->cluster)
        return;
    double part = far ? 0.25 : 1;
    if (plan->ops[task].tag.gang == OP_NONE) {
        if (lane_of(plan, task)->cls == LANE_COMPUTE)
            s->weight[task][DEVICE * PLACES + lane_of(plan, task)->device] = 1;
        return;
    }
    for (uint32_t i = 0; i < n && n > 1; i++)
        if (!sends || plan->ops[ops[i]].tag.kind == OP_SEND)
            weigh_transfer(s, task, lane_of(plan, ops[i]), lane_of(plan, ops[(i + 1) % n]), part);
}

static bool works(const struct slow *s, uint32_t task)
{
    return s->begun[task] && !s->done[task] && s->work[task] > 0 &&
           (s->sharing->beside || s->rest[task] <= 0);
}

/* Rates of all that works: raised together, those at a full resource stay, until all are at 1. */
static void find_rates(struct slow *s)
{
    bool open[MOST_OPS], more = true;
    for (uint32_t t = 0; t < s->plan->n_ops; t++)
        open[t] = works(s, t), s->rate[t] = 0;
    while (more) {
        double step = 1;
        more = false;
        for (uint32_t r = 0; r < RESOURCE_KINDS * PLACES; r++) {
            double used = 0, rising = 0;
            for (uint32_t t = 0; t < s->plan->n_ops; t++)
                if (works(s, t))
                    used += s->rate[t] * s->weight[t][r], rising += open[t] ? s->weight[t][r] : 0;
            if (rising > 0)
                step = MIN(step, (s->capacity[r] - used) / rising);
        }
        for (uint32_t t = 0; t < s->plan->n_ops; t++)
            if (open[t])
                step = MIN(step, 1 - s->rate[t]);
        for (uint32_t t = 0; t < s->plan->n_ops; t++)
            if (open[t])
                s->rate[t] += step;
        for (uint32_t t = 0; t < s->plan->n_ops; t++) {
            if (!open[t])
                continue;
            open[t] = s->rate[t] < 1 - 1e-12;
            for (uint32_t r = 0; r < RESOURCE_KINDS * PLACES && open[t]; r++) {
                double used = 0;
                for (uint32_t o = 0; o < s->plan->n_ops; o++)
                    used += works(s, o) ? s->rate[o] * s->weight[o][r] : 0;
                open[t] = !(s->weight[t][r] > 0 && used >= s->capacity[r] * (1 - 1e-12));
            }
            more |= open[t];
        }
    }
}

static double slow_speed(const struct slow *s, uint32_t task)
{
    const struct sharing *h = s->sharing;
    uint32_t beside = 0;
    if (lane_of(s->plan, task)->cls != LANE_COMPUTE)
        return 1;
    for (uint32_t i = 0; i < s->plan->n_ops; i++) {
        const struct lane *lane = lane_of(s->plan, i), *own = lane_of(s->plan, task);
        bool same =
            h->interference == INTERFERENCE_SM ? lane->device == own->device : lane->rank == own->rank;
        beside += same && lane->cls == LANE_COMM && s->ready[i] && !s->done[task_of(s->plan, i)];
    }
    if (!beside || h->interference == INTERFERENCE_NONE)
        return 1;
    if (h->interference == INTERFERENCE_FACTOR)
        return 1 / h->factor;
    return 1 / cost_waves_slowdown(h->cluster, &s->plan->costs[s->plan->ops[task].cost],
                                   MIN(h->cluster->sms - 1, beside * h->sms));
}

static bool op_can_start(const struct slow *s, uint32_t op)
{
    for (uint32_t d = s->plan->ops[op].first_dep; d < s->plan->ops[op + 1].first_dep; d++)
        if (!s->done[task_of(s->plan, s->plan->deps[d])])
            return false;
    for (uint32_t i = 0; i < op; i++)
        if (s->plan->ops[i].lane == s->plan->ops[op].lane && !s->done[task_of(s->plan, i)])
            return false;
    return !s->ready[op];
}

static bool task_can_begin(const struct slow *s, uint32_t task)
{
    for (uint32_t i = 0; i < s->plan->n_ops; i++)
        if (is_member(s->plan, i, task) && !s->ready[i])
            return false;
    return !s->begun[task];
}

static void slow_begin(struct slow *s, uint32_t task)
{
    double alone = 0, work = 0;
    for (uint32_t i = 0; i < s->plan->n_ops; i++)
        if (is_member(s->plan, i, task)) {
            alone = MAX(alone, (double)s->cost[s->plan->ops[i].cost].alone_ns);
            work = MAX(work, (double)s->cost[s->plan->ops[i].cost].work_ns);
        }
    s->begun[task] = true;
    s->work[task] = work;
    s->rest[task] = s->sharing->beside ? alone : alone - work;
    weigh(s, task);
}

/* All that happens at this instant. */
static void settle(struct slow *s)
{
    const double nothing = 1e-6;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < s->plan->n_ops; i++) {
            if (op_can_start(s, i))
                s->ready[i] = changed = true, s->start[i] = s->now;
            if (task_of(s->plan, i) != i)
                continue;
            if (task_can_begin(s, i))
                slow_begin(s, i), changed = true;
            if (s->begun[i] && !s->done[i] && s->work[i] <= nothing && s->rest[i] <= nothing)
                s->done[i] = changed = true, s->end[i] = s->now;
        }
    }
}

static bool advance(struct slow *s)
{
    double step = INFINITY;
    find_rates(s);
    for (uint32_t t = 0; t < s->plan->n_ops; t++) {
        if (!s->begun[t] || s->done[t])
            continue;
        s->speed[t] = slow_speed(s, t);
        if (works(s, t))
            step = MIN(step, s->work[t] / (s->rate[t] * s->speed[t]));
        if (s->rest[t] > 0)
            step = MIN(step, s->rest[t]);
    }
    if (isinf(step))
        return false;
    s->now += step;
    for (uint32_t t = 0; t < s->plan->n_ops; t++) {
        if (!s->begun[t] || s->done[t])
            continue;
        bool worked = works(s, t);
        if (worked)
            s->work[t] -= step * s->rate[t] * s->speed[t];
        if (s->rest[t] > 0)
            s->rest[t] -= step;
        s->work[t] = s->work[t] < 1e-6 ? 0 : s->work[t];
        s->rest[t] = s->rest[t] < 1e-6 ? 0 : s->rest[t];
    }
    return true;
}

/* --- comparing */

struct setting {
    struct cluster cluster;
    struct sharing sharing;
    uint32_t lane_core[MOST_RANKS * TIMING_LANES];
};

static void random_setting(struct setting *s, GRand *rand)
{
    *s = (struct setting){.cluster = {.f32_tflops = 10,
                                      .f64_tflops = 5,
                                      .memory_gbs = 100,
                                      .efficiency = 1,
                                      .link_gbps = 100,
                                      .net_gbps = 25,
                                      .net_cards = 1 + pick(rand, 2),
                                      .sms = 4}};
    s->cluster.link_shared = g_rand_boolean(rand);
    s->sharing.beside = g_rand_boolean(rand);
    if (g_rand_boolean(rand))
        s->sharing.cluster = &s->cluster;
    if (g_rand_boolean(rand))
        s->sharing.cores = 1 + pick(rand, 4);
    if (s->sharing.cores > 0 && g_rand_boolean(rand)) {
        for (uint32_t i = 0; i < MOST_RANKS * TIMING_LANES; i++)
            s->lane_core[i] = pick(rand, (uint32_t)s->sharing.cores);
        s->sharing.lane_core = s->lane_core;
    }
    s->sharing.interference = (uint8_t)pick(rand, s->sharing.cluster ? 3 : 2);
    s->sharing.factor = 1 + g_rand_double(rand);
    s->sharing.sms = 1 + pick(rand, 3);
}

static struct cost *random_costs(const struct plan *plan, GRand *rand)
{
    struct cost *cost = g_new0(struct cost, plan->n_costs + 1);
    for (uint32_t i = 0; i < plan->n_costs; i++) {
        cost[i].alone_ns = pick(rand, 4) ? pick(rand, 1000000) : 0;
        cost[i].work_ns = pick(rand, 3) ? cost[i].alone_ns : cost[i].alone_ns / (1 + pick(rand, 5));
    }
    return cost;
}

static bool check_slow(const struct plan *plan, const struct cost *cost, const struct setting *setting)
{
    int64_t *start_ns = g_new(int64_t, plan->n_ops + 1), *end_ns = g_new(int64_t, plan->n_ops + 1);
    struct slow *s = g_new0(struct slow, 1);
    g_assert_cmpuint(plan->n_ops, <=, MOST_OPS);
    *s = (struct slow){.plan = plan, .cost = cost, .sharing = &setting->sharing};
    for (uint32_t r = 0; r < RESOURCE_KINDS * PLACES; r++)
        s->capacity[r] = 1;
    if (setting->sharing.cores > 0 && !setting->sharing.lane_core)
        s->capacity[CORE * PLACES] = setting->sharing.cores;
    do
        settle(s);
    while (advance(s));
    int64_t makespan_ns = flow_time(plan, cost, &setting->sharing, start_ns, end_ns);
    double latest = 0;
    bool slowed = false;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t task = task_of(plan, i);
        double tolerance = 3.0 * plan->n_ops; /* each op's end is rounded up once */
        g_assert_true(s->done[task]);
        g_assert_cmpfloat(fabs((double)start_ns[i] - s->start[i]), <=, tolerance);
        g_assert_cmpfloat(fabs((double)end_ns[i] - s->end[task]), <=, tolerance);
        latest = MAX(latest, (double)end_ns[i]);
        slowed |=
            end_ns[i] - start_ns[i] > cost[plan->ops[i].cost].alone_ns && plan->ops[i].tag.gang == OP_NONE;
    }
    g_assert_cmpfloat((double)makespan_ns, ==, latest);
    g_free(start_ns);
    g_free(end_ns);
    g_free(s);
    return slowed;
}

static void test_slow(void)
{
    GRand *rand = g_rand_new_with_seed(3);
    unsigned slowed = 0;
    for (int i = 0; i < PLANS; i++) {
        struct plan plan;
        struct setting setting;
        random_plan(&plan, rand, 1 + pick(rand, 2));
        random_setting(&setting, rand);
        struct cost *cost = random_costs(&plan, rand);
        slowed += check_slow(&plan, cost, &setting);
        g_free(cost);
        plan_release(&plan);
    }
    g_assert_cmpuint(slowed, >, PLANS / 3);
    g_rand_free(rand);
}

/* --- the sweep, to the ns, where nothing is shared: and where flow_needed says that nothing can be */

static void check_sweep(const struct plan *plan, const struct cost *cost, const struct sharing *sharing)
{
    int64_t *times[4], *cost_ns = g_new0(int64_t, plan->n_costs + 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++)
        times[i] = g_new0(int64_t, plan->n_ops + 1);
    for (uint32_t i = 0; i < plan->n_costs; i++)
        cost_ns[i] = cost[i].alone_ns;
    struct sweep *sweep = sweep_new(plan);
    g_assert_cmpint(sweep_time(sweep, cost_ns, times[0], times[1]), ==,
                    flow_time(plan, cost, sharing, times[2], times[3]));
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        g_assert_cmpint(times[0][i], ==, times[2][i]);
        g_assert_cmpint(times[1][i], ==, times[3][i]);
    }
    sweep_free(sweep);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++)
        g_free(times[i]);
    g_free(cost_ns);
}

static void test_sweep(void)
{
    GRand *rand = g_rand_new_with_seed(4);
    unsigned not_needed = 0;
    for (int i = 0; i < PLANS; i++) {
        struct plan plan;
        struct setting setting;
        struct sharing none = {.beside = i % 2};
        random_plan(&plan, rand, 1 + pick(rand, 2));
        random_setting(&setting, rand);
        struct cost *cost = random_costs(&plan, rand);
        for (uint32_t c = 0; c < plan.n_costs; c++) {
            cost[c].alone_ns += INT64_C(1) << 55; /* beyond what a double tells apart */
            cost[c].work_ns += INT64_C(1) << 55;
        }
        g_assert_false(flow_needed(&plan, &none));
        if (plan.n_ops < 100) {
            check_sweep(&plan, cost, &none);
            none.cores = plan.t.n_lanes;
            check_sweep(&plan, cost, &none);
        }
        if (!flow_needed(&plan, &setting.sharing) && plan.n_ops < 100) {
            not_needed++;
            check_sweep(&plan, cost, &setting.sharing);
        }
        g_free(cost);
        plan_release(&plan);
    }
    g_assert_cmpuint(not_needed, >, 10);
    g_rand_free(rand);
}

/* --- closed forms */

static uint32_t add_lone(struct plan *plan, uint32_t lane, uint8_t kind, uint32_t rows, uint32_t gang)
{
    struct cost_key key = {.shape = "s", .rows = rows, .members = 1, .kind = kind};
    struct op_tag tag = {.kind = kind,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE};
    return plan_add_op(plan, lane, &tag, plan_add_cost(plan, &key));
}

static void begin_plan(struct plan *plan, uint32_t ranks, uint32_t devices, uint32_t node_devices)
{
    plan_init(plan);
    plan->t.n_ranks = ranks;
    plan->rank_share = g_new0(double, ranks);
    plan->rank_rows = g_new0(uint32_t, ranks);
    plan->n_micro = 1;
    plan->micro_rows = g_new0(uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t l = 0; l < 2; l++)
            plan_add_lane(plan, &(struct lane){.name = l ? "comm" : "compute",
                                               .rank = r,
                                               .device = r % devices,
                                               .node = r % devices / node_devices,
                                               .peer = OP_NONE,
                                               .cls = l ? LANE_COMM : LANE_COMPUTE});
}

static int64_t makespan(struct plan *plan, const struct cost *cost, const struct sharing *sharing)
{
    GError *error = NULL;
    plan_seal(plan, &error);
    g_assert_no_error(error);
    int64_t *start_ns = g_new(int64_t, plan->n_ops), *end_ns = g_new(int64_t, plan->n_ops);
    int64_t ns = flow_time(plan, cost, sharing, start_ns, end_ns);
    g_free(start_ns);
    g_free(end_ns);
    plan_release(plan);
    return ns;
}

/* n ranks on k devices, each computing as long: ceil(n / k) times as long as alone, with a cluster or without one. */
static void test_devices(void)
{
    static const struct cluster cluster = {.link_gbps = 1};
    const struct sharing ways[] = {{.cluster = &cluster}, {.devices = true}, {.devices = false}};
    const struct cost cost = {1234567, 1234567};
    for (uint32_t ranks = 1; ranks <= 6; ranks++)
        for (uint32_t devices = 1; devices <= ranks; devices++)
            for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
                bool shared = ways[i].cluster || ways[i].devices;
                struct plan plan;
                begin_plan(&plan, ranks, devices, devices);
                for (uint32_t r = 0; r < ranks; r++)
                    add_lone(&plan, 2 * r, OP_FWD, 1, OP_NONE);
                g_assert_cmpint(makespan(&plan, &cost, &ways[i]), ==,
                                1234567 * (shared ? (ranks + devices - 1) / devices : 1));
            }
}

/* A ring's hop over a bus takes as often as long as it has members; over links of their own it takes no
 * longer; between nodes of d devices and one card each, all pairs apart (shift d), it takes d times as long.
 */
static void test_links(void)
{
    struct cluster cluster = {.link_gbps = 100, .net_gbps = 25, .net_cards = 1};
    const struct sharing sharing = {.cluster = &cluster};
    const struct cost cost = {1000, 900};
    for (uint32_t n = 2; n <= 8; n += 2)
        for (int way = 0; way < 3; way++) {
            struct plan plan;
            begin_plan(&plan, n, n, way == 2 ? n / 2 : n);
            uint32_t gang = plan_add_gang(&plan, way == 2 ? n / 2 : 1);
            for (uint32_t r = 0; r < n; r++)
                add_lone(&plan, 2 * r + 1, OP_EXCHANGE, 1, gang);
            cluster.link_shared = way == 1;
            g_assert_cmpint(makespan(&plan, &cost, &sharing), ==,
                            100 + 900 * (way == 0   ? 1
                                         : way == 1 ? n
                                                    : n / 2));
        }
}

/* One core: a paced hop of 1000, of which 300 is work, beside compute of 2000.  The work takes 600 at half
 * rate, within the hop; the compute 2300.  As a latency before it, the work takes from 700 to 1300. */
static void test_beside(void)
{
    for (int beside = 0; beside < 2; beside++) {
        struct plan plan;
        const struct cost cost[2] = {{2000, 2000}, {1000, 300}};
        const struct sharing sharing = {.cores = 1, .beside = beside};
        int64_t start_ns[3], end_ns[3];
        begin_plan(&plan, 2, 2, 2);
        add_lone(&plan, 0, OP_FWD, 1, OP_NONE);
        uint32_t gang = plan_add_gang(&plan, 1);
        add_lone(&plan, 1, OP_SEND, 2, gang);
        add_lone(&plan, 3, OP_RECV, 2, gang);
        GError *error = NULL;
        plan_seal(&plan, &error);
        g_assert_no_error(error);
        g_assert_cmpint(plan.n_costs, ==, 3);
        const struct cost by_key[3] = {cost[0], cost[1], cost[1]};
        g_assert_cmpint(flow_time(&plan, by_key, &sharing, start_ns, end_ns), ==, 2300);
        g_assert_cmpint(end_ns[1], ==, beside ? 1000 : 1300);
        plan_release(&plan);
    }
}

/* Compute of 1000 beside a hop of 300: 300 at 1/1.5 leave 800. */
static void test_factor(void)
{
    struct plan plan;
    const struct cost cost[2] = {{1000, 1000}, {300, 300}};
    const struct sharing sharing = {.interference = INTERFERENCE_FACTOR, .factor = 1.5};
    begin_plan(&plan, 2, 2, 2);
    uint32_t gang = plan_add_gang(&plan, 1);
    add_lone(&plan, 0, OP_FWD, 1, OP_NONE);
    for (uint32_t r = 0; r < 2; r++)
        add_lone(&plan, 2 * r + 1, OP_EXCHANGE, 1, gang);
    g_assert_cmpint(makespan(&plan, cost, &sharing), ==, 1100);
}

/* Two ranks compute 1000, one at half speed, then meet for a hop, which no speed changes. */
static void test_speed(void)
{
    struct plan plan;
    const struct cost cost[2] = {{1000, 1000}, {300, 300}};
    const double speed[4] = {1, 1, 0.5, 0.5};
    const struct sharing sharing = {.lane_speed = speed};
    begin_plan(&plan, 2, 2, 2);
    uint32_t gang = plan_add_gang(&plan, 1), forward[2];
    for (uint32_t r = 0; r < 2; r++)
        forward[r] = add_lone(&plan, 2 * r, OP_FWD, 1, OP_NONE);
    for (uint32_t r = 0; r < 2; r++) {
        add_lone(&plan, 2 * r + 1, OP_EXCHANGE, 1, gang);
        plan_dep(&plan, forward[r]);
    }
    g_assert_cmpint(makespan(&plan, cost, &sharing), ==, 2300);
}

/* 132 tiles of 128 x 128 on 132 multiprocessors are one wave; 24 of them held make it two, as the tile was
 * chosen before. */
static void test_waves(void)
{
    const struct cluster cluster = {
        .f32_tflops = 50, .f64_tflops = 25, .memory_gbs = 1e6, .efficiency = 1, .sms = 132};
    const struct gemm full = {128 * 12, 128 * 11, 512, 1}, half = {32, 32, 128, 66};
    struct cost_key key = {.gemms = {full}}, other = {.gemms = {half}}, both = {.gemms = {full, half}};
    double full_ns = cost_waves_ns(&cluster, &key, 132), half_ns = cost_waves_ns(&cluster, &other, 132);
    g_assert_cmpfloat(cost_waves_slowdown(&cluster, &key, 0), ==, 1);
    g_assert_cmpfloat_with_epsilon(cost_waves_slowdown(&cluster, &key, 24), 2, 0.01);
    g_assert_cmpfloat_with_epsilon(cost_waves_slowdown(&cluster, &other, 24), 1, 0.01);
    g_assert_cmpfloat_with_epsilon(cost_waves_slowdown(&cluster, &both, 24),
                                   (2 * full_ns + half_ns) / (full_ns + half_ns), 0.01);
    g_assert_cmpfloat(cost_waves_slowdown(&cluster, &(struct cost_key){.bytes = 1}, 24), ==, 1);
}

static void test_parse(void)
{
    static const char *const bad[] = {
        "",   "factor", "factor:", "factor:0.9", "factor:nan", "factor:1e9", "factor: 2", "factor:-2",
        "sm", "sm:0",   "sm:1.5",  "sm:-1",      "sm:99999",   "none ",      "factor:1x", "SM:3"};
    struct sharing s = {0};
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *error = NULL;
        g_assert_false(sharing_interference(&s, bad[i], &error));
        g_assert_nonnull(strstr(error->message, "factor:X"));
        g_error_free(error);
    }
    static const char *const good[][2] = {
        {"none", ""},
        {"factor:1.25", "computation takes 1.25 times as long beside communication"},
        {"sm:16", "16 SMs held by communication"},
        {"sm:1", "1 SM held by communication"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(good); i++) {
        g_assert_true(sharing_interference(&s, good[i][0], NULL));
        g_autofree char *text = sharing_text(&s);
        g_assert_cmpstr(text, ==, good[i][1]);
    }
}

/* What would end beyond int64 does not wrap. */
static void test_saturates(void)
{
    struct plan plan;
    const struct cost cost = {INT64_MAX / 3, INT64_MAX / 3};
    const struct sharing sharing = {.cores = 0.1};
    begin_plan(&plan, 1, 1, 1);
    uint32_t op = OP_NONE;
    for (int i = 0; i < 2; i++) {
        uint32_t next = add_lone(&plan, 0, OP_FWD, 1, OP_NONE);
        if (op != OP_NONE)
            plan_dep(&plan, op);
        op = next;
    }
    g_assert_cmpint(makespan(&plan, &cost, &sharing), ==, INT64_MAX);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/flow/slow", test_slow);
    g_test_add_func("/flow/sweep", test_sweep);
    g_test_add_func("/flow/devices", test_devices);
    g_test_add_func("/flow/links", test_links);
    g_test_add_func("/flow/beside", test_beside);
    g_test_add_func("/flow/factor", test_factor);
    g_test_add_func("/flow/speed", test_speed);
    g_test_add_func("/flow/waves", test_waves);
    g_test_add_func("/flow/parse", test_parse);
    g_test_add_func("/flow/saturates", test_saturates);
    return g_test_run();
}
