#!/bin/sh
# Data-parallel training on emulated GPUs equals one rank on the CPU, whatever the overlap, algorithm, buckets, ranks and
# GPUs, in whatever order the emulator runs what nothing orders; and nothing races, leaks or differs in order.
# Every pair of choices; all of them with LONG=1.
. "${srcdir:-.}/tests/cuda.sh"
LIMIT=600
train=$builddir/tests/cuda-train

for seed in 1 2 3; do
    for gpus in 1 2 3; do
        cases=$("$train" --cases ${LONG:+all} | awk -F: -v g=$gpus '$2 == g')
        # shellcheck disable=SC2086
        emulated --gpus $gpus --seed $seed "$train" $cases
        result $status "$(echo "$cases" | wc -l) cases on $gpus GPUs, seed $seed"
    done
done
done_testing
