/* Sweeps: the best point, the table, and files that read back as what was written. */
#include <string.h>

#include "profile/series.h"
#include "tests/strict-json.h"
#include "tests/tap.h"

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    return g_test_run();
}
