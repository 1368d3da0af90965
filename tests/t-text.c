/* Text as training data: words against what torchtext makes of the same text, the vocabulary by hand, and the
 * samples' deal against its definition. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/exec.h"
#include "exec/text.h"
#include "exec/words.h"
#include "plan/mode.h"
#include "profile/trace.h"
#include "tests/tap.h"

/* --- words */

static void append(void *user, const char *word)
{
    GString *out = user;
    g_assert_true(g_utf8_validate(word, -1, NULL));
    g_assert_cmpuint(strlen(word), <=, WORD_BYTES_MAX);
    g_assert_cmpuint(strlen(word), >, 0);
    g_string_append_printf(out, "%s|", word);
}

/* Words joined by bars; the text is given in pieces of `piece` bytes. */
static char *split(const char *text, size_t n, size_t piece)
{
    GString *out = g_string_new(NULL);
    struct words words = {.take = append, .user = out};
    for (size_t at = 0; at < n; at += piece)
        words_feed(&words, text + at, MIN(piece, n - at));
    words_end(&words);
    return g_string_free(out, FALSE);
}

static void check_words(const char *text, size_t n, const char *expected)
{
    for (size_t piece = 1; piece <= n + 1; piece++) {
        g_autofree char *got = split(text, n, piece);
        g_assert_cmpstr(got, ==, expected);
    }
}

static void test_words(void)
{
    static const char *const cases[][2] = {
        /* torchtext's documentation of get_tokenizer, and its tests */
        {"You can now install TorchText using pip!", "you|can|now|install|torchtext|using|pip|!|"},
        {"'\".<br />,()!?;:   Basic English Normalization for a Line of Text   '\".<br />,()!?;:",
         "'|.|,|(|)|!|?|basic|english|normalization|for|a|line|of|text|'|.|,|(|)|!|?|"},
        {"", ""},
        {" \t\r\n\v\f ", ""},
        {"one", "one|"},
        {"don't  stop", "don|'|t|stop|"},
        {"a\"b \"quoted\"", "ab|quoted|"},
        {"x;y:z", "x|y|z|"},
        {"3.14, (e.g.)", "3|.|14|,|(|e|.|g|.|)|"},
        {"well-known <unk> @-@ 1/2 $", "well-known|<unk>|@-@|1/2|$|"},
        {"end<br />of<BR />line", "end|of|line|"},
        {"a<b <br <br/> <br /x <<br />", "a<b|<br|<br/>|<br|/x|<|"},
        {"<br", "<br|"},
        {"<br /", "<br|/|"},
        {"<b\"r />x", "x|"},
        {"ÄRGER Ünïcode\u00a0space\u3000wide\xc2\x85"
         "next",
         "ärger|ünïcode|space|wide|next|"},
        {"日本 語", "日本|語|"},
        {"\xef\xbb\xbfThe first", "the|first|"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        check_words(cases[i][0], strlen(cases[i][0]), cases[i][1]);
}

/* What is no text: NULs and control characters separate, bytes that are no UTF-8 are replaced one by one. */
static void test_hostile_words(void)
{
    check_words("a\0b\x01"
                "c\x7f"
                "d",
                8, "a|b|c|d|");
    check_words("x\xffy", 3, "x\xef\xbf\xbdy|");
    check_words("x\xe2\x82", 3, "x\xef\xbf\xbd\xef\xbf\xbd|");
    check_words("\xe2\x82 \xed\xa0\x80", 6, "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|");
    check_words("\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd|");
    check_words("\xf8\x88\x80\x80\x80\xfe", 6,
                "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|");
    for (unsigned i = 0; i < 200; i++) {
        char noise[64];
        for (unsigned k = 0; k < sizeof noise; k++)
            noise[k] = (char)g_test_rand_int_range(0, 256);
        g_autofree char *whole = split(noise, sizeof noise, sizeof noise);
        check_words(noise, sizeof noise, whole);
    }
}

static void test_long_word(void)
{
    g_autofree char *text = g_strnfill(100000, 'A'), *kept = g_strnfill(WORD_BYTES_MAX, 'a');
    g_autofree char *expected = g_strconcat(kept, "|", NULL);
    g_autofree char *got = split(text, strlen(text), 977);
    g_assert_cmpstr(got, ==, expected);
}

/* --- files */

static char *folder;

static char *write_file(const char *content, gssize n)
{
    GError *error = NULL;
    char *path = g_build_filename(folder, "some.txt", NULL);
    g_file_set_contents(path, content, n, &error);
    g_assert_no_error(error);
    return path;
}

static struct model *small_model(const char *name, uint32_t vocab, uint32_t seq)
{
    GError *error = NULL;
    struct model_override over = {
        .layers = 1, .d = 8, .heads = 2, .ff = 8, .vocab = vocab, .seq = seq, .dtype = DTYPE_F64};
    struct model *model = model_load(name, &over, &error);
    g_assert_no_error(error);
    return model;
}

static struct text *open_text(const char *content, const struct model *model, bool in_parts)
{
    GError *error = NULL;
    g_autofree char *path = write_file(content, -1);
    struct text *text = text_open(path, model, in_parts, &error);
    g_assert_no_error(error);
    return text;
}

static struct text_part whole(const struct text *text, uint32_t batch)
{
    GError *error = NULL;
    struct text_part part;
    text_part(text, DATA_ALL, batch, &part, &error);
    g_assert_no_error(error);
    return part;
}

/* c three times; a and b twice, a first; d and e once, d first: with room for four words e is unknown. */
static void test_vocabulary(void)
{
    static const char *const words[] = {"<unk>", "c", "a", "b", "d", NULL};
    struct model *model = small_model("mini", 5, 3);
    struct text *text = open_text("a c b c\nb A d e, C", model, false);
    for (uint32_t i = 0; i < 6; i++)
        g_assert_cmpstr(text_word(text, i), ==, words[i]);
    const struct text_part all = whole(text, 2);
    g_assert_cmpuint(all.n, ==, 3);
    /* a c b | c b a | d e ,  and the word behind each */
    static const int32_t windows[3][2][3] = {
        {{2, 1, 3}, {1, 3, 1}}, {{1, 3, 2}, {3, 2, 4}}, {{4, 0, 0}, {0, 0, 1}}};
    for (uint32_t g = 0; g < 2; g++) {
        int32_t out[6];
        text_fill(&all, 7, 0, g, 1, out);
        g_assert_cmpmem(out, sizeof out, windows[text_index(&all, 7, 0, g)], sizeof out);
    }
    text_close(text);
    model_free(model);
    model = small_model("mini", 100, 3);
    text = open_text("a c b c\nb A d e, C", model, false);
    g_assert_cmpstr(text_word(text, 5), ==, "e");
    g_assert_cmpstr(text_word(text, 6), ==, ",");
    g_assert_null(text_word(text, 7));
    text_close(text);
    model_free(model);
}

static void test_classes(void)
{
    struct model *model = small_model("bert-base", 50, 2);
    struct text *text = open_text("a b c d e f g", model, false);
    const struct text_part all = whole(text, 1);
    int32_t out[2 * 2 + 2];
    g_assert_cmpuint(all.n, ==, 3);
    text_fill(&all, 1, 0, 0, 2, out);
    for (uint32_t i = 0; i < 2; i++) {
        g_assert_cmpint(out[2 * i], ==, 1 + 2 * (int32_t)text_index(&all, 1, 0, i));
        g_assert_cmpint(out[2 * i + 1], ==, out[2 * i] + 1);
        g_assert_cmpint(out[4 + i], ==, out[2 * i] % (int32_t)model->dims.classes);
    }
    text_close(text);
    model_free(model);
}

static void check_refused(const char *path, const char *what)
{
    GError *error = NULL;
    struct model *model = small_model("mini", 20, 4);
    struct text_part part;
    struct text *text = text_open(path, model, false, &error);
    g_assert_false(text && text_part(text, DATA_ALL, 2, &part, &error));
    text_close(text);
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
    g_assert_nonnull(strstr(error->message, what));
    g_assert_nonnull(strstr(error->message, "--data"));
    g_clear_error(&error);
    model_free(model);
}

static void test_refused(void)
{
    static const char *const short_texts[] = {"", "one", "a b c d e f g h", " \n\n \t"};
    for (unsigned i = 0; i < G_N_ELEMENTS(short_texts); i++) {
        g_autofree char *path = write_file(short_texts[i], -1);
        check_refused(path, "fewer than the batch of 2");
    }
    g_autofree char *nuls = g_malloc0(10000), *path = write_file(nuls, 10000);
    check_refused(path, "it has NUL bytes");
    check_refused(folder, "is a directory");
    check_refused("/dev/zero", "no regular file");
    g_autofree char *missing = g_build_filename(folder, "missing", NULL);
    check_refused(missing, "cannot open it");
    g_autofree char *fifo = g_build_filename(folder, "fifo", NULL);
    g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
    check_refused(fifo, "no regular file");
    g_assert_cmpint(g_unlink(fifo), ==, 0);
    /* a hole of 5 GiB */
    g_assert_cmpint(truncate(path, (off_t)5 << 30), ==, 0);
    check_refused(path, "larger than 4 GiB");
    g_assert_cmpint(truncate(path, 0), ==, 0);
}

/* --- samples */

static struct text_part numbered_text(const struct model *model, uint32_t samples, uint32_t batch)
{
    g_autoptr(GString) content = g_string_new(NULL);
    for (uint32_t i = 0; i <= samples * model->dims.seq; i++)
        g_string_append_printf(content, "w%u ", i);
    const struct text_part all = whole(open_text(content->str, model, false), batch);
    g_assert_cmpuint(all.n, ==, samples);
    return all;
}

/* In a step no sample twice; in an epoch each, and again only to fill the last step; another epoch, another
 * order. */
static void test_epochs(void)
{
    static const uint32_t cases[][2] = {{1, 1}, {2, 2}, {7, 3}, {8, 4}, {64, 5}, {100, 100}, {131, 16}};
    struct model *model = small_model("mini", 20, 2);
    for (unsigned c = 0; c < G_N_ELEMENTS(cases); c++) {
        uint32_t n = cases[c][0], batch = cases[c][1], steps = (n + batch - 1) / batch, same = 0;
        const struct text_part text = numbered_text(model, n, batch);
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            g_autofree uint32_t *count = g_new0(uint32_t, n), *last = g_new0(uint32_t, n);
            for (uint32_t step = epoch * steps; step < (epoch + 1) * steps; step++)
                for (uint32_t g = 0; g < batch; g++) {
                    uint64_t i = text_index(&text, 5, step, g);
                    g_assert_cmpuint(i, <, n);
                    g_assert_cmpuint(last[i], !=, step + 1);
                    last[i] = step + 1;
                    count[i]++;
                    same += i == text_index(&text, 5, step % steps, g);
                }
            for (uint32_t i = 0; i < n; i++) {
                g_assert_cmpuint(count[i], >=, 1);
                g_assert_cmpuint(count[i], <=, 2);
            }
        }
        if (n >= 64)
            g_assert_cmpuint(same, <, 3 * steps * batch * 2 / 3);
        text_close((struct text *)text.text);
    }
    model_free(model);
}

static void test_shuffled(void)
{
    struct model *model = small_model("mini", 20, 2);
    const struct text_part text = numbered_text(model, 1000, 10);
    uint32_t in_place = 0, neighbours = 0, as_other_seed = 0;
    for (uint32_t k = 0; k < 999; k++) {
        uint64_t i = text_index(&text, 1, k / 10, k % 10),
                 next = text_index(&text, 1, (k + 1) / 10, (k + 1) % 10);
        in_place += i == k;
        neighbours += next == i + 1;
        as_other_seed += i == text_index(&text, 2, k / 10, k % 10);
    }
    g_assert_cmpuint(MAX(in_place, MAX(neighbours, as_other_seed)), <, 15);
    text_close((struct text *)text.text);
    model_free(model);
}

/* However a step's samples are cut, they are the same. */
static void test_cut(void)
{
    struct model *model = small_model("mini", 90, 3);
    const struct text_part text = numbered_text(model, 40, 12);
    int32_t whole[12 * 6], part[12 * 6];
    for (uint32_t step = 0; step < 9; step++) {
        text_fill(&text, 3, step, 0, 12, whole);
        for (uint32_t cut = 1; cut < 12; cut++)
            for (uint32_t first = 0; first < 12; first += cut) {
                uint32_t n = MIN(cut, 12 - first);
                text_fill(&text, 3, step, first, n, part);
                g_assert_cmpmem(part, n * 12, whole + first * 3, n * 12);
                g_assert_cmpmem(part + n * 3, n * 12, whole + 36 + first * 3, n * 12);
            }
    }
    text_close((struct text *)text.text);
    model_free(model);
}

/* 100 windows of 2 words, of which 80, 10 and 10; words of the first 80 alone are known, the others <unk>. */
static void test_parts(void)
{
    static const uint64_t begins[] = {
        [DATA_TRAIN] = 0, [DATA_VALID] = 80, [DATA_TEST] = 90, [DATA_PARTS] = 100};
    GError *error = NULL;
    struct model *model = small_model("mini", 1000, 2);
    g_autoptr(GString) content = g_string_new(NULL);
    for (uint32_t i = 0; i <= 200; i++)
        g_string_append_printf(content, "w%u ", i);
    struct text *text = open_text(content->str, model, true);
    for (unsigned p = DATA_TRAIN; p < DATA_PARTS; p++) {
        struct text_part part;
        uint64_t seen = 0;
        g_assert_true(text_part(text, p, 5, &part, &error));
        g_assert_cmpuint(part.first, ==, begins[p]);
        g_assert_cmpuint(part.first + part.n, ==, begins[p + 1]);
        for (uint32_t k = 0; k < part.n; k++) {
            int32_t out[4];
            const uint64_t i = text_index(&part, 3, k / 5, k % 5);
            g_assert_true(i >= part.first && i < part.first + part.n);
            seen += i;
            text_fill(&part, 3, k / 5, k % 5, 1, out);
            for (uint32_t j = 0; j < 2; j++) { /* word 2 i + j occurred as the (2 i + j)-th */
                const int32_t word = (int32_t)(2 * i + j);
                g_assert_cmpint(out[j], ==, word < 160 ? word + 1 : 0);
                g_assert_cmpint(out[2 + j], ==, word + 1 < 160 ? word + 2 : 0);
            }
        }
        g_assert_cmpuint(2 * seen, ==, (begins[p] + begins[p + 1] - 1) * part.n); /* each once */
    }
    struct text_part part;
    g_assert_false(text_part(text, DATA_TEST, 11, &part, &error));
    g_assert_nonnull(strstr(error->message, "the part of the text to test has 10 samples"));
    g_assert_nonnull(strstr(error->message, "--eval-batch"));
    g_clear_error(&error);
    text_close(text);
    model_free(model);
}

/* --- training */

static void train(const char *path, const struct mode *mode, uint32_t ranks, uint32_t steps, double *loss)
{
    GError *error = NULL;
    struct plan plan;
    struct trace trace;
    struct model *model = small_model("mini", 30, 4);
    struct shape shape = {.model = model,
                          .ranks = ranks,
                          .batch = 8,
                          .overlap = OVERLAP_BACKWARD,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = 2000,
                          .first_bucket_bytes = 2000};
    plan_make(mode, &shape, &plan, &error);
    g_assert_no_error(error);
    plan_place(&plan);
    struct text *text = text_open(path, model, false, &error);
    g_assert_no_error(error);
    const struct text_part all = whole(text, 8);
    struct run run = {.plan = &plan, .model = model, .steps = steps, .seed = 4, .lr = 0.5, .data = &all};
    trace_init(&trace);
    cpu_engine.run(&run, &trace, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(trace_label_value(&trace, "data"), ==, "some.txt");
    memcpy(loss, trace.loss, steps * sizeof *loss);
    trace_release(&trace);
    plan_release(&plan);
    text_close(text);
    model_free(model);
}

/* The loss falls well below that of guessing, and the split does not show. */
static void test_training(void)
{
    enum { STEPS = 60 };
    static const char *const lines[] = {"the cat sat on the mat.", "a dog ran in the park!",
                                        "the sun is warm, the sea is cold."};
    g_autoptr(GString) content = g_string_new(NULL);
    for (unsigned i = 0; i < 60; i++)
        g_string_append_printf(content, "%s\n", lines[i % 3]);
    g_autofree char *path = write_file(content->str, -1);
    double single[STEPS], split_loss[STEPS];
    train(path, &mode_single, 1, STEPS, single);
    train(path, &mode_ddp, 3, STEPS, split_loss);
    g_assert_cmpfloat(fabs(single[0] - log(30)), <, 0.5);
    g_assert_cmpfloat(single[STEPS - 1], <, single[0] * 0.7);
    for (unsigned i = 0; i < STEPS; i++)
        g_assert_cmpfloat(fabs(split_loss[i] - single[i]), <=, 1e-9 * single[i]);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    GError *error = NULL;
    folder = g_dir_make_tmp("parprof-text-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/text/words", test_words);
    g_test_add_func("/text/hostile-words", test_hostile_words);
    g_test_add_func("/text/long-word", test_long_word);
    g_test_add_func("/text/vocabulary", test_vocabulary);
    g_test_add_func("/text/classes", test_classes);
    g_test_add_func("/text/refused", test_refused);
    g_test_add_func("/text/epochs", test_epochs);
    g_test_add_func("/text/shuffled", test_shuffled);
    g_test_add_func("/text/cut", test_cut);
    g_test_add_func("/text/parts", test_parts);
    g_test_add_func("/text/training", test_training);
    int status = g_test_run();
    g_autofree char *path = g_build_filename(folder, "some.txt", NULL);
    g_unlink(path);
    g_rmdir(folder);
    g_free(folder);
    return status;
}
