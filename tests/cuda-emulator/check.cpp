/* tests/cuda-emulator/check.cpp -- the happens-before checker, after FastTrack (Flanagan and Freund, 2009).
 *
 * Every four bytes of device and pinned memory have a cell with who wrote them last and who has read them since, as epochs: a
 * stream's index and the number of its task.  A granule that is only ever touched as a whole has one cell for all.  A task
 * that touches them races with these unless its vector clock says that they came before.  A granule is poisoned when a task
 * first touches it: most of what is allocated for the libraries to work in never is.  Within a kernel, the cell has who wrote and read in this launch: threads of one block are ordered by
 * barriers, blocks not at all. */
#include "machine.h"
#include "device/fiber.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace emu {

namespace {

using Epoch = uint64_t; /* stream << 48 | task; the highest bit: index into `sets` */
constexpr Epoch NONE = 0, SET = Epoch(1) << 63, TASK = (Epoch(1) << 48) - 1;

struct Cell {
    Epoch write, read; /* NONE: nobody since it was allocated */
};

char *base, *pinned; /* the host touches pinned memory unseen, so that it is poisoned when allocated */
size_t mapped;
size_t known = SIZE_MAX; /* granule that the running task reaches */
Cell *cells, *wholes;  /* of four bytes; of granules */
uint8_t *detailed;     /* of granules: the cells count, not the whole's */
uint8_t *touched;      /* of granules: some task did, since it was allocated */
Touch *within[2];      /* of four bytes, in one launch: who read, who wrote */
uint16_t *live; /* of every granule, how many bytes of it are of a live block */
std::vector<std::vector<Epoch>> sets;
std::vector<uint32_t> free_sets;
std::vector<std::vector<uint32_t>> names; /* [stream][task]: index into words */
std::map<std::string, uint32_t> word_of;
std::vector<std::string> words;
Running now;
Epoch mine;

uint32_t word(const std::string &text)
{
    const auto [at, made] = word_of.try_emplace(text, uint32_t(words.size()));
    if (made)
        words.push_back(text);
    return at->second;
}

const std::string &name_of(Epoch e)
{
    return words[names[e >> 48][(e & TASK) - 1]];
}

bool before(Epoch e)
{
    const size_t stream = e >> 48;
    return stream == 0 || /* NONE */
        (stream < now.clock->size() && (*now.clock)[stream] >= (e & TASK));
}

void race(Epoch other, bool other_writes, bool writes, const void *p)
{
    /* The same whichever of the two ran first. */
    struct Side {
        std::string name;
        unsigned stream;
        const char *verb;
        auto operator<=>(const Side &) const = default;
    };
    Side a{pretty(name_of(mine)), now.stream, writes ? "writes" : "reads"},
        b{pretty(name_of(other)), unsigned(other >> 48), other_writes ? "writes" : "reads"};
    if (b < a)
        std::swap(a, b);
    static std::set<std::pair<Side, Side>> said;
    if (!said.insert({a, b}).second)
        return;
    complain("race: nothing orders %s on stream %u, which %s, and %s on stream %u, which %s %s", a.name.c_str(), a.stream,
             a.verb, b.name.c_str(), b.stream, b.verb, describe(p).c_str());
}

uint32_t new_set(std::vector<Epoch> &&set)
{
    uint32_t i = uint32_t(sets.size());
    if (free_sets.empty()) {
        sets.emplace_back();
    } else {
        i = free_sets.back();
        free_sets.pop_back();
    }
    sets[i] = std::move(set);
    return i;
}

void read_cell(Cell &c, const void *p)
{
    if (c.write == mine || c.read == mine)
        return;
    if (!before(c.write))
        race(c.write, true, false, p);
    if (c.read & SET) {
        std::vector<Epoch> &set = sets[c.read & ~SET];
        std::erase_if(set, [](Epoch e) { return e >> 48 == now.stream; });
        set.push_back(mine);
    } else if (c.read == NONE || before(c.read)) {
        c.read = mine;
    } else {
        c.read = SET | new_set({c.read, mine});
    }
}

void forget_reads(Cell &c)
{
    if (c.read & SET)
        free_sets.push_back(uint32_t(c.read & ~SET));
    c.read = NONE;
}

void write_cell(Cell &c, const void *p)
{
    if (c.write == mine && c.read == NONE)
        return;
    if (c.write != mine && !before(c.write))
        race(c.write, true, true, p);
    if (c.read & SET) {
        for (Epoch e : sets[c.read & ~SET])
            if (e != mine && !before(e))
                race(e, false, true, p);
    } else if (c.read != NONE && c.read != mine && !before(c.read)) {
        race(c.read, false, true, p);
    }
    forget_reads(c);
    c.write = mine;
}

/* The first byte that is of no live block; NULL: all are. */
const char *first_dead(const char *p, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const size_t offset = size_t(p + done - base), within = offset % GRANULE;
        if (live[offset / GRANULE] <= within)
            return p + done;
        done += std::min(size_t(live[offset / GRANULE]), GRANULE) - within;
    }
    return nullptr;
}

void *reserve(size_t bytes)
{
    const long p = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (p == -1) {
        perror("emulator: reserving addresses");
        _exit(86);
    }
    return reinterpret_cast<void *>(p);
}

void access_cell(Cell &c, const void *p, bool write)
{
    if (write)
        write_cell(c, p);
    else
        read_cell(c, p);
}

/* The cells of a granule take over from its whole's. */
void split_cells(size_t g)
{
    Cell &whole = wholes[g];
    for (size_t i = g * GRANULE / 4; i < (g + 1) * GRANULE / 4; i++) {
        cells[i] = whole;
        if (whole.read & SET)
            cells[i].read = SET | new_set(std::vector<Epoch>(sets[whole.read & ~SET]));
    }
    forget_reads(whole);
    detailed[g] = 1;
}

/* And back: all has just been written. */
void join_cells(size_t g, Epoch writer)
{
    for (size_t i = g * GRANULE / 4; detailed[g] && i < (g + 1) * GRANULE / 4; i++)
        forget_reads(cells[i]);
    forget_reads(wholes[g]);
    wholes[g].write = writer;
    detailed[g] = 0;
}

} // namespace

void join(Clock &into, const Clock &from)
{
    if (into.size() < from.size())
        into.resize(from.size());
    for (size_t i = 0; i < from.size(); i++)
        into[i] = std::max(into[i], from[i]);
}

void check_map(char *begin, char *begin_pinned, size_t bytes)
{
    base = begin;
    pinned = begin_pinned;
    mapped = bytes;
    cells = static_cast<Cell *>(reserve(bytes / 4 * sizeof(Cell)));
    wholes = static_cast<Cell *>(reserve(bytes / GRANULE * sizeof(Cell)));
    detailed = static_cast<uint8_t *>(reserve(bytes / GRANULE));
    touched = static_cast<uint8_t *>(reserve(bytes / GRANULE));
    for (Touch *&w : within)
        w = static_cast<Touch *>(reserve(bytes / 4 * sizeof(Touch)));
    live = static_cast<uint16_t *>(reserve(bytes / GRANULE * sizeof *live));
}

void arm(void *p, size_t bytes)
{
    for (size_t g = size_t(static_cast<char *>(p) - base) / GRANULE; bytes; g++) {
        live[g] = uint16_t(std::min(bytes, GRANULE));
        bytes -= live[g];
    }
}

void disarm(void *p, size_t bytes)
{
    const size_t first = size_t(static_cast<char *>(p) - base) / GRANULE, end = first + (bytes + GRANULE - 1) / GRANULE;
    memset(live + first, 0, (end - first) * sizeof *live);
    for (size_t g = first; g < end; g++) {
        if (!touched[g])
            continue;
        wholes[g] = {};
        detailed[g] = touched[g] = 0; /* sets of readers are not given back: they are the executor's */
    }
}

void check_begin(const Running &r)
{
    now = r;
    known = SIZE_MAX;
    mine = Epoch(r.stream) << 48 | r.sequence;
    if (names.size() <= r.stream)
        names.resize(r.stream + 1);
    names[r.stream].resize(r.sequence, 0);
    names[r.stream].back() = word(r.task->name);
}

/* Whether the task may touch these bytes at all; says why not. */
static bool allowed(const void *p, size_t bytes, bool write)
{
    if (!base || static_cast<const char *>(p) < base || static_cast<const char *>(p) + bytes > base + mapped ||
        (now.device >= 0 && !reaches(now.device, p))) {
        int owner = -1;
        const bool peer = base && in_region(p, &owner);
        complain("%s on device %d %s %zu bytes at %s%s", pretty(now.task->name).c_str(), now.device,
                 write ? "writes" : "reads", bytes, describe(p).c_str(),
                 peer ? ", to which that device has no peer access" : "");
        return false;
    }
    if (const char *dead = first_dead(static_cast<const char *>(p), bytes)) {
        complain("%s on device %d %s %zu bytes at %s", pretty(now.task->name).c_str(), now.device, write ? "writes" : "reads",
                 bytes, describe(dead).c_str());
        return false;
    }
    return true;
}

bool check_access(const void *p, size_t bytes, bool write)
{
    if (bytes == 0)
        return true;
    const size_t begin = size_t(static_cast<const char *>(p) - base), end = begin + bytes, first = begin / GRANULE;
    if (first != known || end > first * GRANULE + live[first]) {
        if (!allowed(p, bytes, write))
            return false;
        known = first;
    }
    for (size_t g = first; g * GRANULE < end; g++) {
        if (!touched[g]) {
            touched[g] = 1;
            if (base + g * GRANULE < pinned)
                memset(base + g * GRANULE, 0xff, GRANULE);
        }
        const bool whole = begin <= g * GRANULE && end >= g * GRANULE + live[g];
        if (whole && !detailed[g]) {
            access_cell(wholes[g], base + g * GRANULE, write);
            continue;
        }
        if (!detailed[g])
            split_cells(g);
        const size_t from = std::max(begin, g * GRANULE), to = std::min(end, (g + 1) * GRANULE);
        for (size_t i = from / 4; i * 4 < to; i++)
            access_cell(cells[i], base + std::max(from, i * 4), write);
        if (whole && write)
            join_cells(g, mine);
    }
    return true;
}

Touch *touches(const void *p, bool write)
{
    return &within[write][size_t(static_cast<const char *>(p) - base) / 4];
}

} // namespace emu
