/* Figure 6 of the DDP paper (Li et al., PyTorch Distributed, VLDB 2020, arXiv 2006.15704): what overlap saves
 * of a step on 32 GPUs with NCCL.  The paper names neither its batch sizes nor its BERT, only that it is some
 * 15 times ResNet-50, as bert-large is; both are assumed here: PyTorch's own DDP benchmark's 32 images, and 8
 * sequences of 512. */
#include <math.h>

#include "tests/paper.h"
#include "tests/tap.h"

static void test_savings(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(paper_rows); i++) {
        double saving = paper_saving(&paper_rows[i], paper_rows[i].samples, "v100x32-100g");
        g_test_message("%s: %.1f %% saved, measured %.1f", paper_rows[i].name, 100 * saving,
                       100 * paper_rows[i].saving);
        g_assert_cmpfloat(fabs(saving - paper_rows[i].saving), <=, 0.10);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/paper/savings", test_savings);
    return g_test_run();
}
