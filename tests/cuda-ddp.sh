#!/bin/sh
# Data-parallel training on emulated GPUs equals one rank on the CPU, whatever the overlap, algorithm, buckets, ranks and
# GPUs, in whatever order the emulator runs what nothing orders; and nothing races, leaks or differs in order.
# Cases with every pair of choices, each with one of three seeds; all cases with all seeds with LONG=1; sanitized, one case
# for each number of GPUs and seed.
. "${srcdir:-.}/tests/cuda.sh"
LIMIT=1800
train=$builddir/tests/cuda-train

for seed in 1 2 3; do
    for gpus in 1 2 3; do
        cases=$("$train" --cases ${LONG:+all} | awk -F: -v g=$gpus -v s=$seed -v all="$LONG" -v one="$SANITIZED" \
            '$2 == g && (all || NR % 3 + 1 == s) { print; if (one) exit }')
        # shellcheck disable=SC2086
        emulated --gpus $gpus --seed $seed "$train" $cases
        [ "$status" = 0 ] && [ ! -s "$dir/err" ]
        result $? "$(echo "$cases" | wc -l) cases on $gpus GPUs, seed $seed"
    done
done
done_testing
