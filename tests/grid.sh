#!/bin/sh
# A pipeline's grid from the command line: small enough for a slide, as the options say.
. "${srcdir:-.}/tests/tap.sh"
pipeline="--mode pipeline --backend sim --ranks 4 --chunks 8" costs="--layers 8 --cost unit:F=1,B=1,W=1,C=0"
unit="$pipeline $costs"

# With either costs, whatever the language; sanitized, in one.
langs="en ko"
[ -z "${SANITIZED:-}" ] || langs=en
run list
for schedule in $(sed -n '/^schedules/,/^splits/s/^  \([^ ]*\) .*/\1/p' "$dir/out"); do
    most=0
    for lang in $langs; do
        for cost in "" "$costs"; do
            # shellcheck disable=SC2086
            run $pipeline $cost --schedule $schedule --lang $lang --figure grid -o g.svg
            bytes=$(wc -c <g.svg)
            [ "$status" = 0 ] && [ "$bytes" -gt "$most" ] && most=$bytes
            [ "$status" = 0 ] || most=999999
        done
    done
    [ "$most" -lt $((24 * 1024)) ]
    result $? "grids of $schedule take less than 24 KB: $most bytes"
done
run $unit --schedule zbv --count-from 1 --figure grid -o zbv.svg
[ "$(grep -c '<title>I · ' zbv.svg)" = 8 ] && grep -q '<title>I · .* 8 · ' zbv.svg && ! grep -q '<title>I0' zbv.svg
result $? "cells of a rank and a stage that last equally long say so once"
# shellcheck disable=SC2086
run $unit --schedule 1f1b --figure grid -o 1f1b.svg --trace t.json --report r.json
run render t.json --figure grid -o again.svg
[ "$status" = 0 ] && cmp -s 1f1b.svg again.svg
result $? "from the trace the same grid"
run render t.json --figure grid --rank-order up --count-from 1 --color-by stage --align late -o other.svg
[ "$status" = 0 ] && grep -q 'rank 4' other.svg && grep -q 'as late as' other.svg && ! grep -q '>F0<' other.svg
result $? "rank order, counting, colours and alignment"
grep -q '"makespan_ns": 3[23][0-9]*, "bubble_of_total": 0.2727' r.json
result $? "the report has makespan and bubble"
for wrong in "--rank-order left" "--color-by hue" "--align never" "--count-from 2"; do
    # shellcheck disable=SC2086
    run render t.json --figure grid $wrong
    [ "$status" = 2 ] && grep -q -e "${wrong%% *}" "$dir/err"
    result $? "$wrong is refused"
done
run render t.json --figure timeline --align late
[ "$status" = 2 ] && grep -q 'figure grid' "$dir/err"
result $? "a timeline has no alignment"
run render r.json --figure grid
[ "$status" = 2 ] && grep -q 'needs the trace' "$dir/err"
result $? "a report has no grid"

# ---- what the numbers are: closed forms and published orders, from the command line
makespan() { # makespan MS OPTIONS
    ms=$1
    shift
    # shellcheck disable=SC2086
    run --mode pipeline --backend sim --layers 16 --ranks 4 --chunks 8 --figure none "$@"
    [ "$status" = 0 ] && grep -q "^makespan $ms ms " "$dir/out" || { ok=1 && echo "# $*: not $ms"; }
}
ok=0
for case in naive:96.0 gpipe:33.0 gpipe-torch:33.0 1f1b:33.0 interleaved:28.5 looped-bfs:28.5 zb1p:27.0 zb2p:27.0 zbv:25.5 dualpipev:27.0 pipedream:33.0; do
    makespan "${case#*:}" --cost unit --schedule "${case%:*}"
done
result $ok "the makespan of every schedule at 4 x 8"
ok=0
for c in 0.25:37.0:34.5 0.5:41.0:36.0 1:49.0:39.0; do
    forms=${c#*:}
    makespan "${forms%:*}" --cost "unit:F=1,B=1,W=1,C=${c%%:*}" --schedule 1f1b
    makespan "${forms#*:}" --cost "unit:F=1,B=1,W=1,C=${c%%:*}" --schedule gpipe
done
result $ok "hops of a latency C no longer than a forward: 1F1B 33 + 16 C, GPipe 33 + 6 C"
ok=0
for case in 1f1b:66.0 zb1p:54.0 zb2p:51.0; do
    makespan "${case#*:}" --cost unit --chain 2 --schedule "${case%:*}"
done
result $ok "two chained steps"
ok=0
for case in never:33.0 except-last:40.0 always:41.0; do
    makespan "${case#*:}" --cost unit --checkpoint "${case%:*}" --schedule gpipe
done
result $ok "forward again: of no, all but the last, and all micro-batches"
run plan --mode pipeline --model transformer-lm --ranks 2 --chunks 8 --batch 20 --split tutorial
grep -q '^ *0 *0 *722116608 ' "$dir/out" && grep -q '^ *1 *1 *722145390 ' "$dir/out"
result $? "the tutorial's split has the tutorial's parameters"
done_testing
