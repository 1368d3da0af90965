#!/bin/sh
# A wait for an event that is left out is a race, which the emulator reports whatever order things happened to have: of a
# small run each wait in turn (every seventh; all with LONG=1) orders nothing.  None is redundant: a rank's last waits are
# those that the next step needs, and the run has one more step than the waits that are left out.
. "${srcdir:-.}/tests/cuda.sh"

set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 4 --ranks 2 \
    --warmup 1 --steps 2 --bucket-mb 0.001 --overlap backward --no-trace --figure none
emulated --option CALLS="$PWD/calls" "$PARPROF" "$@"
waits=$(awk '$1 == "cudaStreamWaitEvent" { print $2 }' calls)
[ "$status" = 0 ] && [ "${waits:-0}" -gt 0 ] && [ ! -s "$dir/err" ]
result $? "a run with ${waits:-no} waits"
k=1 every=7
[ -z "$LONG" ] || every=1
while [ $k -le $((waits * 2 / 3)) ]; do
    emulated --option DROP_WAIT=$k "$PARPROF" "$@"
    [ "$status" = 86 ] && grep -q '^emulator: race: nothing orders' "$dir/err"
    result $? "without wait $k"
    k=$((k + every))
done
done_testing
