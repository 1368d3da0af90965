#!/bin/sh
# A wait for an event that is left out is a race, which the emulator reports whatever order things happened to have: of a
# small run each wait in turn (every seventh; all with LONG=1) orders nothing.  A wait is redundant where the clocks show that
# another path orders the same; a wait that the clocks need but no two conflicting accesses do, such as a join at the end of
# a step, may change no number under any of three seeds, and their count is bounded.
. "${srcdir:-.}/tests/cuda.sh"
not_sanitized

set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 4 --ranks 2 \
    --warmup 1 --steps 2 --bucket-mb 0.001 --overlap backward --no-trace --figure none
emulated --option CALLS="$PWD/calls" "$PARPROF" "$@"
waits=$(awk '$1 == "cudaStreamWaitEvent" { print $2 }' calls)
[ "$status" = 0 ] && [ "${waits:-0}" -gt 0 ] && [ ! -s "$dir/err" ]
result $? "a run with ${waits:-no} waits"
loss=$(grep '^loss' "$dir/out")
k=1 every=7 idle=0
[ -z "$LONG" ] || every=1
while [ $k -le $((waits * 2 / 3)) ]; do
    for seed in 1 2 3; do
        echo "nothing follows" >dropped
        emulated --seed $seed --option DROP_WAIT=$k --option DROPPED="$PWD/dropped" "$PARPROF" "$@"
        ok=0 what=$(cat dropped)
        if [ "$status" = 86 ]; then
            # Or it followed an index that was not there yet.
            grep -q '^emulator: race: nothing orders\|^emulator: .*, which is no ' "$dir/err" || ok=1
            what=reported
            break
        fi
        [ "$what" = needed ] || break
        [ "$status" = 0 ] && [ "$(grep '^loss' "$dir/out")" = "$loss" ] || ok=1
        what='orders no conflict'
    done
    [ "$what" != 'orders no conflict' ] || idle=$((idle + 1))
    result $ok "without wait $k: $what"
    k=$((k + every))
done
[ $((4 * idle * every)) -le $waits ]
result $? "$idle waits order nothing that conflicts"
done_testing
