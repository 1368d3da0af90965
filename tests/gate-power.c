/* How often the rules of `compare` and `gate` are wrong, and how often they find what is there: over noise
 * made by numbers, and with this program on this machine's cores, equal and with --inject-delay.  `make
 * gate-power`; GATE_POWER_SECONDS bounds the second part (default 120; 0 leaves it out).  It only prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/clock.h"
#include "profile/gate.h"
#include "tests/trial.h"

enum { REPEATS = 2000, STEPS = 20, PAIRS = 64, SECONDS = 120, DELAY = 20 };
enum { LATER = 2 }; /* new's runs at another time than base's: nothing wanders on from one to the other */

static const struct noise_of noises[] = {{NOISE_GAUSSIAN, 0.02},      {NOISE_GAUSSIAN, 0.06},
                                         {NOISE_BIMODAL, 0.01, 0.12}, {NOISE_HEAVY, 0.04},
                                         {NOISE_DRIFT, 0.02, 0.12},   {NOISE_CORRELATED, 0.08, 0.9}};

static void print_rate(const char *name, unsigned k, unsigned n)
{
    double low, high;
    trial_interval(k, n, &low, &high);
    printf("  %s %5.1f %% (%.1f to %.1f)", name, 100.0 * k / n, 100 * low, 100 * high);
}

static void print_rates(const struct rates *r)
{
    print_rate("slower", r->of[VERDICT_SLOWER], r->repeats);
    print_rate("same", r->of[VERDICT_SAME], r->repeats);
    print_rate("open", r->of[VERDICT_AMBIGUOUS] + r->of[VERDICT_INCOMPARABLE], r->repeats);
}

static void print_noise(const struct noise_of *noise, double rise)
{
    const struct trial steps = {*noise, 1, STEPS, rise, 42}, runs = {*noise, 8, 1, rise, 42, true},
                       later = {*noise, 8, 1, rise, 42}, pairs = {*noise, PAIRS, 1, rise, 42};
    const struct rates of[] = {trial_compare(&steps, REPEATS), trial_compare(&runs, REPEATS),
                               trial_compare(&later, REPEATS), trial_gate(&pairs, REPEATS)};
    static const char *const names[] = {"compare, 20 steps", "compare, 8 runs", "compare, 8 later", "gate"};
    for (unsigned i = 0; i < G_N_ELEMENTS(of); i++) {
        if (i == LATER && noise->kind != NOISE_CORRELATED)
            continue;
        printf("%-14s %4.0f %%  %+4.0f %%  %-17s", noise_name(noise->kind), 100 * MAX(noise->sd, noise->gap),
               100 * rise, names[i]);
        print_rates(&of[i]);
        if (of[i].pairs > 0)
            printf("  %.0f pairs", of[i].pairs);
        printf("\n");
        fflush(stdout);
    }
}

/* --- on this machine */

struct here {
    char *folder, *job; /* job: a run that writes its report, as the shell takes it */
    const char *program;
};

static bool command(const struct here *h, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool command(const struct here *h, const char *format, ...)
{
    int status;
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", text, NULL};
    return g_spawn_sync(h->folder, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                        NULL, NULL, NULL, &status, NULL) &&
           WIFEXITED(status) && WEXITSTATUS(status) != 2 && WEXITSTATUS(status) < 4;
}

/* What the comparison's file says. */
static void count(const struct here *h, bool ran, struct rates *rates)
{
    g_autofree char *path = g_build_filename(h->folder, "c.json", NULL), *text = NULL;
    if (!ran || !g_file_get_contents(path, &text, NULL, NULL))
        return;
    for (unsigned v = 0; v < VERDICTS; v++) {
        g_autofree char *said = g_strdup_printf("\n \"verdict\": \"%s\"", verdict_name(v));
        if (strstr(text, said)) {
            rates->of[v]++;
            rates->repeats++;
            return;
        }
    }
}

static void once(const struct here *h, unsigned delay, struct rates *of)
{
    count(h,
          command(h,
                  "%s r.json --steps 30 && mv r.json a.json && %s r.json --steps 30 --inject-delay %u && %s "
                  "compare a.json r.json -q --json c.json",
                  h->job, h->job, delay, h->program),
          &of[0]);
    count(h,
          command(h,
                  "%s gate --base '%s r.json' --new '%s r.json --inject-delay %u' --samples trace:r.json "
                  "--budget 20s -q --json c.json",
                  h->program, h->job, h->job, delay),
          &of[1]);
}

static void on_this_machine(unsigned seconds)
{
    static const char *const names[] = {"compare, 30 steps", "gate, 20 steps a run"};
    const char *program = g_getenv("PARPROF");
    struct rates of[2][2] = {0};
    struct here h = {g_dir_make_tmp("gate-power-XXXXXX", NULL), NULL, program};
    const int64_t until_ns = clock_ns() + (int64_t)seconds * 1000000000;
    if (!program || !h.folder || strpbrk(program, " '\"$\\")) {
        fprintf(stderr, "gate-power: PARPROF should name the program\n");
        return;
    }
    h.job = g_strdup_printf("%s --backend cpu --ranks 2 --layers 2 --d-model 64 --vocab 500 --seq-len 16 "
                            "--steps 20 --link none --figure none -q --report",
                            program);
    for (unsigned i = 0; clock_ns() < until_ns; i++)
        once(&h, i % 2 ? DELAY : 0, of[i % 2]);
    for (unsigned delayed = 0; delayed < 2; delayed++)
        for (unsigned i = 0; i < 2; i++) {
            if (!of[delayed][i].repeats)
                continue;
            printf("this machine, computation +%u %%, %-20s (%u times)", delayed ? DELAY : 0, names[i],
                   of[delayed][i].repeats);
            print_rates(&of[delayed][i]);
            printf("\n");
        }
    command(&h, "rm -f a.json r.json c.json");
    rmdir(h.folder);
    g_free(h.folder);
    g_free(h.job);
}

int main(void)
{
    static const double rises[] = {0, 0.05, 0.10};
    const char *seconds = g_getenv("GATE_POWER_SECONDS");
    printf("threshold 5 %%; noise by its deviation or gap; of each %d repeats, intervals of 95 %% "
           "(Clopper-Pearson)\n",
           REPEATS);
    for (unsigned i = 0; i < G_N_ELEMENTS(noises); i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(rises); k++)
            print_noise(&noises[i], rises[k]);
    on_this_machine(seconds ? (unsigned)strtoul(seconds, NULL, 10) : SECONDS);
    return 0;
}
