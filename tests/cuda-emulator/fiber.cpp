/* tests/cuda-emulator/fiber.cpp -- how a grid runs: block after block, each thread of a block until it ends or waits for others.
 *
 * A fiber runs one thread after another; only when a thread waits does it keep the fiber, and another fiber goes on with
 * the next thread.  So a kernel without barriers is a plain loop.  The order of blocks and threads, and who goes on when
 * several can, is random. */
#include "machine.h"
#include "device/fiber.h"

#include <cstdio>
#include <cstring>
#include <link.h>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__)
#error "the switch between fibers is written for x86-64"
#endif

/* Saves the callee's registers and the stack in *save, goes on at `to`. */
extern "C" void emulator_switch(void **save, void *to);
asm(R"(
	.text
	.hidden emulator_switch
	.globl emulator_switch
	.type emulator_switch, @function
emulator_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size emulator_switch, .-emulator_switch
)");

namespace emu {

using emulated::Warp;

namespace {

constexpr size_t STACK = 128 << 10;
constexpr unsigned MAX_THREADS = 1024;
enum : uint32_t { MANY = 1u << 31, MANY_OF_WARP = 1u << 30, ANY_BLOCK = ~0u };
enum class State : uint8_t { fresh, ready, block, warp, done };

struct Thread {
    State state;
    int fiber;
    const char *file;
    int line;
    /* of a warp's meeting */
    Warp kind;
    unsigned mask;
    size_t bytes;
    unsigned source;
    uint64_t value, result;
    bool defined;
};

/* Of the grid that runs; there is one executor. */
struct {
    bool failed, fenced;
    const Kernel *kernel;
    const Task *task;
    void **arguments;
    emulated::Shared shared;
    uint32_t launch, block_run; /* serial numbers */
    uint32_t block;
    uint3 block_index, thread_index;
    unsigned thread, threads, order, stride, started;
    uint16_t block_phase, warp_phase[MAX_THREADS / WARP];
    unsigned waiting[MAX_THREADS / WARP], ended[MAX_THREADS / WARP]; /* lanes, of every warp */
    unsigned ready_count, ready[MAX_THREADS];
    Thread thread_of[MAX_THREADS];
} g;

/* Of the thread that runs a grid: others may run code of the library too, at its load. */
thread_local bool running __attribute__((tls_model("initial-exec")));
void *scheduler; /* its stack while a fiber runs */
char *stacks;
void *fiber_sp[MAX_THREADS]; /* NULL: never ran */
int idle[MAX_THREADS], idle_count;
int current;
std::vector<std::pair<const char *, const char *>> segments; /* the code's own data, which kernels may touch */
std::vector<Touch> shared_touches[2];

uint64_t random_state;
uint64_t random_next()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

unsigned random_below(unsigned n) { return unsigned((random_next() >> 32) * n >> 32); }

std::string kernel_name() { return pretty(g.kernel->name); }

void become(unsigned t)
{
    g.thread = t;
    const dim3 b = g.task->block;
    g.thread_index = b.x == g.threads ? uint3{t, 0, 0} : uint3{t % b.x, t / b.x % b.y, t / b.x / b.y};
}

void to_scheduler() { emulator_switch(&fiber_sp[current], scheduler); }

[[noreturn]] void abort_kernel()
{
    g.failed = true;
    to_scheduler();
    __builtin_unreachable();
}

/* Runs fresh threads until there are none; a thread that waits leaves this loop standing on its stack. */
void work()
{
    for (;;) {
        while (g.started < g.threads) {
            const unsigned t = unsigned((g.order + uint64_t(g.started++) * g.stride) % g.threads);
            become(t);
            g.thread_of[t].fiber = current;
            g.kernel->code->call(g.arguments);
            g.thread_of[g.thread].state = State::done;
            g.ended[g.thread / WARP] |= 1u << g.thread % WARP;
            if (g.ready_count) /* others can go on too */
                break;
        }
        idle[idle_count++] = current;
        to_scheduler();
    }
}

void fiber_new(int i)
{
    /* As after a call of work: the stack off 16 bytes by the return address, which nobody returns to. */
    void **top = reinterpret_cast<void **>(stacks + STACK * (size_t(i) + 1)) - 3;
    top[0] = nullptr;
    *--top = reinterpret_cast<void *>(work);
    for (int r = 0; r < 6; r++)
        *--top = nullptr;
    fiber_sp[i] = top;
}

void run_fiber(int i)
{
    current = i;
    if (!fiber_sp[i])
        fiber_new(i);
    emulator_switch(&scheduler, fiber_sp[i]);
}

void make_ready(unsigned t)
{
    g.thread_of[t].state = State::ready;
    g.ready[g.ready_count++] = t;
}

bool same_place(const Thread &a, const Thread &b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* Nobody can go on: all stand at one barrier, or something is wrong. */
bool release_block()
{
    const Thread *first = nullptr;
    for (unsigned t = 0; t < g.threads; t++) {
        const Thread &h = g.thread_of[t];
        if (h.state == State::done)
            continue;
        if (!first)
            first = &h;
        if (h.state == State::block && first->state == State::block && same_place(h, *first))
            continue;
        const unsigned other = unsigned(first - g.thread_of);
        complain("divergence in %s, block %u: thread %u waits at %s:%d%s, thread %u at %s:%d%s; neither can go on",
                 kernel_name().c_str(), g.block, other, first->file, first->line,
                 first->state == State::warp ? " for its warp" : "", t, h.file, h.line,
                 h.state == State::warp ? " for threads of its warp that ended or wait elsewhere" : "");
        return false;
    }
    if (first->state == State::warp) {
        complain("divergence in %s, block %u: thread %u waits at %s:%d for threads of its warp that ended",
                 kernel_name().c_str(), g.block, unsigned(first - g.thread_of), first->file, first->line);
        return false;
    }
    g.block_phase++;
    for (unsigned t = 0; t < g.threads; t++)
        if (g.thread_of[t].state == State::block)
            make_ready(t);
    return true;
}

bool run_block()
{
    g.started = g.ready_count = g.block_phase = 0;
    memset(g.warp_phase, 0, sizeof g.warp_phase);
    memset(g.waiting, 0, sizeof g.waiting);
    memset(g.ended, 0, sizeof g.ended);
    for (unsigned t = 0; t < g.threads; t++)
        g.thread_of[t].state = State::fresh;
    g.order = random_below(g.threads);
    do
        g.stride = random_below(g.threads) + 1;
    while (std::gcd(g.stride, g.threads) != 1);
    for (;;) {
        const bool fresh = g.started < g.threads;
        if (fresh && (g.ready_count == 0 || random_below(2))) {
            run_fiber(idle[--idle_count]);
        } else if (g.ready_count) {
            const unsigned i = random_below(g.ready_count), t = g.ready[i];
            g.ready[i] = g.ready[--g.ready_count];
            become(t);
            run_fiber(g.thread_of[t].fiber);
        } else {
            bool all = true;
            for (unsigned t = 0; t < g.threads && all; t++)
                all = g.thread_of[t].state == State::done;
            if (all)
                return true;
            if (!release_block())
                return false;
        }
        if (g.failed)
            return false;
    }
}

void fibers_reset()
{
    idle_count = 0;
    for (int i = int(MAX_THREADS) - 1; i >= 0; i--) {
        fiber_sp[i] = nullptr;
        idle[idle_count++] = i;
    }
}

void prepare()
{
    if (stacks)
        return;
    stacks = static_cast<char *>(mmap(nullptr, STACK * MAX_THREADS, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
    if (stacks == MAP_FAILED) {
        perror("emulator: stacks of fibers");
        _exit(86);
    }
    const char *seed = option("SEED");
    random_state = (seed ? strtoull(seed, nullptr, 0) : 1) * 0x9e3779b97f4a7c15 | 1;
    fibers_reset();
}

/* A library's own memory: constants, tables of strings. */
void learn_segments(const void *of)
{
    for (const auto &[begin, end] : segments)
        if (of >= begin && of < end)
            return;
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *user) {
            std::vector<std::pair<const char *, const char *>> loads;
            bool here = false;
            for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) &h = info->dlpi_phdr[i];
                const char *p = reinterpret_cast<const char *>(info->dlpi_addr + h.p_vaddr);
                if (h.p_type != PT_LOAD)
                    continue;
                loads.push_back({p, p + h.p_memsz});
                here |= user >= p && user < p + h.p_memsz;
            }
            if (here)
                segments.insert(segments.end(), loads.begin(), loads.end());
            return here ? 1 : 0;
        },
        const_cast<void *>(of));
}

void race_within(const Touch &other, bool other_writes, bool write, const void *p)
{
    const unsigned thread = other.thread & ~(MANY | MANY_OF_WARP);
    char who[64];
    if (other.block == ANY_BLOCK)
        snprintf(who, sizeof who, "threads of several blocks");
    else if (other.block != g.block)
        snprintf(who, sizeof who, "a thread of another block");
    else if (other.thread & (MANY | MANY_OF_WARP))
        snprintf(who, sizeof who, "several threads of the block");
    else
        snprintf(who, sizeof who, "%s thread of the block%s", thread / WARP == g.thread / WARP ? "another" : "a",
                 thread / WARP == g.thread / WARP ? ", of its warp," : ", of another warp,");
    const bool in_shared = p >= g.shared.begin && p < g.shared.end;
    static std::vector<std::string> said;
    const std::string key = kernel_name() + (in_shared ? "s" : "g") + (other_writes ? "w" : "r") + (write ? "w" : "r") + who;
    for (const std::string &s : said)
        if (s == key)
            return;
    said.push_back(key);
    complain("race in %s: a thread %s what %s %s, with no barrier between, at %s", kernel_name().c_str(),
             write ? "writes" : "reads", who, other_writes ? "wrote" : "read",
             in_shared ? "shared memory" : describe(p).c_str());
}

struct Me {
    uint32_t launch;
    bool shared;
};

bool unordered(const Touch &t, Me me)
{
    if (t.launch != me.launch)
        return false;
    if (t.block != g.block)
        return !me.shared && !g.fenced;
    if (t.block_phase != g.block_phase || t.thread == g.thread)
        return false;
    if (t.thread & MANY)
        return true;
    return (t.thread & ~MANY_OF_WARP) / WARP != g.thread / WARP || t.warp_phase == g.warp_phase[g.thread / WARP];
}

void touch(Touch &wrote, Touch &has_read, bool write, const void *p, Me me)
{
    const uint16_t warp_phase = g.warp_phase[g.thread / WARP];
    if (unordered(wrote, me))
        race_within(wrote, true, write, p);
    if (write) {
        if (unordered(has_read, me))
            race_within(has_read, false, true, p);
        wrote = {me.launch, g.block, g.thread, g.block_phase, warp_phase};
        return;
    }
    Touch &r = has_read;
    const bool same_launch = r.launch == me.launch;
    if (same_launch && !me.shared && r.block != g.block) {
        r.block = ANY_BLOCK;
    } else if (same_launch && r.block == g.block && r.block_phase == g.block_phase && r.thread != g.thread) {
        if ((r.thread & MANY) || (r.thread & ~MANY_OF_WARP) / WARP != g.thread / WARP)
            r.thread |= MANY;
        else if (r.warp_phase == warp_phase)
            r.thread |= MANY_OF_WARP;
        else
            r = {me.launch, g.block, g.thread, g.block_phase, warp_phase};
    } else {
        r = {me.launch, g.block, g.thread, g.block_phase, warp_phase};
    }
}

void access_shared(const char *p, size_t bytes, bool write)
{
    if (p >= g.shared.dynamic && p + bytes <= g.shared.dynamic_end && p + bytes > g.shared.dynamic + g.task->dynamic_shared) {
        complain("%s %s shared memory at byte %zu, of %zu that it was launched with", kernel_name().c_str(),
                 write ? "writes" : "reads", size_t(p - g.shared.dynamic), g.task->dynamic_shared);
        abort_kernel();
    }
    for (size_t i = size_t(p - g.shared.begin) / 4, end = (size_t(p - g.shared.begin) + bytes - 1) / 4; i <= end; i++)
        touch(shared_touches[0][i], shared_touches[1][i], write, p, {g.block_run, true});
}

} // namespace

bool run_grid(const Kernel &kernel, const Task &task, void **arguments)
{
    prepare();
    learn_segments(kernel.code->function);
    learn_segments(&g);
    g.kernel = &kernel;
    g.task = &task;
    g.arguments = arguments;
    g.shared = kernel.library.shared();
    g.threads = task.block.x * task.block.y * task.block.z;
    g.failed = g.fenced = false;
    g.launch++;
    const size_t words = size_t(g.shared.end - g.shared.begin) / 4 + 1;
    for (std::vector<Touch> &t : shared_touches)
        if (t.size() < words)
            t.resize(words);
    const uint64_t blocks = uint64_t(task.grid.x) * task.grid.y * task.grid.z, first = random_next() % blocks;
    uint64_t stride;
    do
        stride = random_next() % blocks + 1;
    while (std::gcd(stride, blocks) != 1);
    running = true;
    for (uint64_t i = 0; i < blocks && !g.failed; i++) {
        const uint64_t b = uint64_t((first + (unsigned __int128)i * stride) % blocks);
        g.block = uint32_t(b);
        g.block_index = {unsigned(b % task.grid.x), unsigned(b / task.grid.x % task.grid.y),
                         unsigned(b / task.grid.x / task.grid.y)};
        g.block_run++;
        memset(g.shared.begin, 0xff, size_t(g.shared.dynamic - g.shared.begin));
        memset(g.shared.dynamic, 0xff, task.dynamic_shared);
        memset(g.shared.dynamic_end, 0xff, size_t(g.shared.end - g.shared.dynamic_end));
        if (!run_block())
            g.failed = true;
    }
    running = false;
    if (g.failed)
        fibers_reset();
    return !g.failed;
}

} // namespace emu

namespace emulated {

using namespace emu;

uint3 thread_index() { return g.thread_index; }
uint3 block_index() { return g.block_index; }
dim3 block_size() { return g.task->block; }
dim3 grid_size() { return g.task->grid; }
uint64_t time_ns() { return uint64_t(now_ns()); }
void fence() { g.fenced = true; }

void barrier(const char *file, int line)
{
    Thread &h = g.thread_of[g.thread];
    h.state = State::block;
    h.file = file;
    h.line = line;
    to_scheduler();
}

namespace {

/* The last of the mask has come: everybody gets the value of its source. */
void finish_warp(unsigned base, unsigned mask)
{
    uint64_t ballot = 0;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1 && g.thread_of[base + lane].value)
            ballot |= uint64_t(1) << lane;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1))
            continue;
        Thread &h = g.thread_of[base + lane];
        h.defined = mask >> h.source & 1;
        h.result = h.kind == Warp::ballot ? ballot : h.defined ? g.thread_of[base + h.source].value : 0;
        if (base + lane != g.thread)
            make_ready(base + lane);
    }
    g.warp_phase[base / WARP]++;
    g.waiting[base / WARP] &= ~mask;
}

/* The mask's lanes that are there; of a block whose last warp is not full, the full mask names more, which hardware ignores. */
unsigned present(unsigned base, unsigned mask)
{
    return g.threads - base < WARP ? mask & ((1u << (g.threads - base)) - 1) : mask;
}

/* Whether nothing but lanes that have yet to come keeps the mask's from meeting; a lane that waits elsewhere is seen when the
 * last of them comes. */
bool still_coming(unsigned base, unsigned mask)
{
    const unsigned w = base / WARP;
    return (mask & ~g.waiting[w]) && !(mask & g.ended[w]);
}

unsigned source_of(Warp kind, unsigned lane, int argument, int width)
{
    const unsigned w = unsigned(width), a = unsigned(argument), segment = lane / w * w, in = lane % w;
    switch (kind) {
    case Warp::xor_: /* of a later segment: one's own */
        return (lane ^ a) < segment + w ? (lane ^ a) : lane;
    case Warp::up:
        return in >= a ? lane - a : lane;
    case Warp::down:
        return in + a < w ? lane + a : lane;
    case Warp::index:
        return segment + a % w;
    default:
        return lane;
    }
}

} // namespace

void warp(Warp kind, unsigned mask, void *value, size_t bytes, int argument, int width, const char *file, int line)
{
    const unsigned lane = g.thread % WARP, base = g.thread - lane;
    Thread &h = g.thread_of[g.thread];
    if (!(mask >> lane & 1)) {
        complain("%s: %s:%d: a thread that its mask %#x does not name", kernel_name().c_str(), file, line, mask);
        abort_kernel();
    }
    h.kind = kind;
    h.mask = mask;
    h.file = file;
    h.line = line;
    h.bytes = bytes;
    h.source = source_of(kind, lane, argument, width);
    h.value = 0;
    if (bytes)
        memcpy(&h.value, value, bytes);
    h.state = State::warp;
    g.waiting[base / WARP] |= 1u << lane;
    mask = present(base, mask);
    const bool come = !still_coming(base, mask);
    bool all = come;
    for (unsigned l = 0; l < WARP && come; l++) {
        if (!(mask >> l & 1))
            continue;
        const Thread &o = g.thread_of[base + l];
        if (o.state == State::fresh || o.state == State::ready || (base + l != g.thread && o.state == State::block)) {
            all = false;
        } else if (o.state == State::done) {
            complain("divergence in %s: %s:%d: the mask %#x names a thread that has ended", kernel_name().c_str(), file, line,
                     h.mask);
            abort_kernel();
        } else if (o.kind != kind || o.mask != h.mask || !same_place(o, h)) {
            complain("divergence in %s: %s:%d: the mask %#x names a thread that waits at %s:%d with mask %#x",
                     kernel_name().c_str(), file, line, h.mask, o.file, o.line, o.mask);
            abort_kernel();
        }
    }
    if (all) {
        h.state = State::ready; /* runs on */
        finish_warp(base, mask);
    } else {
        to_scheduler();
    }
    if (!h.defined && kind != Warp::sync && kind != Warp::ballot) {
        complain("%s: %s:%d: a shuffle reads the value of a lane that the mask %#x does not name", kernel_name().c_str(), file,
                 line, mask);
        abort_kernel();
    }
    if (bytes)
        memcpy(value, &h.result, bytes);
}

void access(const void *pointer, size_t bytes, bool write)
{
    if (!running)
        return;
    const char *p = static_cast<const char *>(pointer);
    if (p >= stacks && p < stacks + STACK * MAX_THREADS)
        return;
    if (p >= g.shared.begin && p < g.shared.end) {
        access_shared(p, bytes, write);
        return;
    }
    if (p >= layout.base && p < layout.base + layout.bytes) {
        if (!check_access(p, bytes, write))
            abort_kernel();
        for (const char *q = p; q < p + bytes; q = reinterpret_cast<const char *>((uintptr_t(q) & ~uintptr_t(3)) + 4))
            touch(*touches(q, true), *touches(q, false), write, q, {g.launch, false});
        return;
    }
    for (const auto &[begin, end] : segments)
        if (p >= begin && p < end)
            return;
    check_access(p, bytes, write); /* complains */
    abort_kernel();
}

void access_atomic(const void *p, size_t bytes)
{
    g.fenced = true;
    int device;
    if (in_region(p, &device) && !check_access(p, bytes, true))
        abort_kernel();
}

void misaligned(const void *p, const char *type, const char *file, unsigned line)
{
    complain("misaligned access in %s: %s:%u: a %s at %s", kernel_name().c_str(), file, line, type, describe(p).c_str());
    abort_kernel();
}

} // namespace emulated
