#!/bin/sh
# Training in pipelines and by DataParallel on emulated GPUs equals one rank on the CPU: each schedule, with checkpoints,
# splits, clipping, tied weights, uneven batches and ranks that share a GPU in turn, in whatever order the emulator runs what
# nothing orders; and nothing races or leaks.  With LONG=1 every pair of choices, on every number of GPUs.
. "${srcdir:-.}/tests/cuda.sh"
LIMIT=3000
train=$builddir/tests/t-train-modes

pairs='-s /train-modes/pairs'
[ -n "$LONG" ] && pairs=
for gpus in ${LONG:+2 4} 1 3; do
    # shellcheck disable=SC2086
    emulated --gpus $gpus --seed $gpus "$train" --cuda=$gpus -s /train-modes/all $pairs
    [ "$status" = 0 ] && [ ! -s "$dir/err" ]
    result $? "$(grep -c '^ok' "$dir/out") groups of cases on $gpus GPUs, seed $gpus"
    [ -n "$SANITIZED" ] && break
done
done_testing
