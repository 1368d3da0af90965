#!/bin/sh
# Training in pipelines and by DataParallel on emulated GPUs equals one rank on the CPU: each schedule, with checkpoints,
# splits, clipping, tied weights, uneven batches and ranks that share a GPU in turn, or have one each and NCCL between them, in
# whatever order the emulator runs what nothing orders; and nothing races or leaks.  With LONG=1 every pair of choices, on
# every number of GPUs.
. "${srcdir:-.}/tests/cuda.sh"
LIMIT=3000
train=$builddir/tests/t-train-modes

# trains GPUS OPTION...: those groups of cases
trains() {
    gpus=$1
    shift
    emulated --gpus "$gpus" --seed "$gpus" "$train" --cuda="$gpus" "$@"
    [ "$status" = 0 ] && [ ! -s "$dir/err" ]
    result $? "$(grep -c '^ok' "$dir/out") groups of cases on $gpus GPUs, seed $gpus"
}

if [ -n "$LONG" ]; then
    for gpus in 1 2 3 4; do
        trains "$gpus" -s /train-modes/all
    done
else
    trains 4 -p /train-modes/apart
    [ -z "$SANITIZED" ] || trains 1 -p /train-modes/chained -p /train-modes/data-parallel
    [ -n "$SANITIZED" ] || trains 3 -s /train-modes/all -s /train-modes/pairs
    [ -n "$SANITIZED" ] || trains 1 -s /train-modes/all -s /train-modes/pairs
fi
done_testing
