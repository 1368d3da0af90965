#!/bin/sh
# A pipeline's grid from the command line: small enough for a slide, as the options say.
. "${srcdir:-.}/tests/tap.sh"
unit="--mode pipeline --backend sim --layers 8 --ranks 4 --chunks 8 --cost unit:F=1,B=1,W=1,C=0"

# With two stages a rank there are twice or thrice as many spans to point at.
for schedule in gpipe:24 1f1b:24 interleaved:24 zb1p:24 zbv:34 dualpipev:34; do
    kb=${schedule#*:} schedule=${schedule%:*}
    # shellcheck disable=SC2086
    run $unit --schedule $schedule --figure grid -o $schedule.svg
    [ "$status" = 0 ] && [ "$(wc -c <$schedule.svg)" -lt $((kb * 1024)) ]
    result $? "a grid of $schedule in less than $kb KB"
done
# shellcheck disable=SC2086
run $unit --schedule 1f1b --figure none --trace t.json --report r.json
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
done_testing
