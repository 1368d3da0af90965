#!/bin/sh
# Figures from files are the figures of the runs that wrote them, and costs go from one run into another's prices.
. "${srcdir:-.}/tests/tap.sh"
small="--layers 1 --d-model 16 --heads 2 --ff 32 --vocab 64 --seq-len 4"
step_ns() { sed -n 's/.*"step_ns": *{"median": *\([0-9]*\).*/\1/p' "$1"; }

# shellcheck disable=SC2086
run --backend cpu $small --ranks 2 --batch 4 --steps 3 --overlap none,backward --figure breakdown -o b.svg --report r.json --trace t.json --costs c.json
[ "$status" = 0 ] && grep -q 'wrote b.svg (step . of 3, the median), r.json, t.json, c.json' "$dir/out"
result $? "a run writes figure, report, trace and costs"
run render r.json -o again.svg
[ "$status" = 0 ] && cmp -s b.svg again.svg
result $? "a breakdown from the report is the run's"
run render t.json
[ "$status" = 0 ] && [ -s parprof-timeline.svg ] && grep -q 'wrote parprof-timeline.svg' "$dir/out"
result $? "a trace is drawn as a timeline"
run render r.json --figure memory -o m1.svg
run render t.json --figure memory -o m2.svg
cmp -s m1.svg m2.svg
result $? "memory from the report is memory from the trace"
run render r.json --figure overlap -o o1.svg
run render t.json --figure overlap -o o2.svg
[ -s o1.svg ] && cmp -s o1.svg o2.svg
result $? "buckets over backward from the report are those from the trace"
run render t.json t.json -o two.pdf
[ "$status" = 0 ] && [ "$(head -c 5 two.pdf)" = %PDF- ]
result $? "two traces stand in one figure"
cp t.json again.json
run render again.json t.json --figure compare -o compare.svg
[ "$status" = 0 ] && grep -q '>again.json<' compare.svg && grep -q 't.json and again.json take equally long' compare.svg
result $? "two traces are compared"
run render t.json --figure compare
[ "$status" = 2 ] && grep -q 'needs two traces at least' "$dir/err"
result $? "one is not"
run --backend sim --model mini --ranks 2 --figure none -q --trace other.json
run render other.json t.json
[ "$status" = 2 ] && grep -q 'other.json and t.json differ' "$dir/err"
result $? "steps of other work are not compared"
run render r.json --figure timeline
[ "$status" = 2 ] && grep -q 'needs a trace' "$dir/err"
result $? "a report has no timeline"
run render c.json
[ "$status" = 2 ] && grep -q 'c.json is a cost' "$dir/err"
result $? "costs are no figure"
run render t.json r.json
[ "$status" = 2 ] && grep -q 'r.json is a report' "$dir/err"
result $? "what is compared are traces"

ok=0
for file in r.json c.json; do
    # shellcheck disable=SC2086
    run --backend sim $small --model mini --ranks 2 --batch 4 --cost "measured:$file" --figure none -q --report "sim-$file"
    [ "$status" = 0 ] || ok=1
done
[ $ok = 0 ] && [ "$(step_ns sim-r.json)" = "$(step_ns sim-c.json)" ]
result $? "costs from the report and from the cost file are the same"
# shellcheck disable=SC2086
run --backend sim $small --model mini --ranks 2 --batch 4 --cost measured:t.json --figure none
[ "$status" = 0 ] && grep -q 'measured in t.json' "$dir/out"
result $? "costs from a trace"
# shellcheck disable=SC2086
run --backend sim $small --model mini --ranks 2 --batch 6 --cost measured:c.json --figure none
[ "$status" = 2 ] && grep -q 'no measured cost for' "$dir/err"
result $? "what was not measured has no price"
for file in r.json t.json c.json; do
    head -c 300 "$file" >cut.json
    # shellcheck disable=SC2086
    run --backend sim $small --model mini --ranks 2 --batch 4 --cost measured:cut.json --figure none
    [ "$status" = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'cut.json' "$dir/err" || break
done
result $? "a file that was cut is refused"
if [ -n "${SANITIZED:-}" ]; then
    skip "too little memory for Cairo" "a sanitizer takes more address space than there is memory"
else
    (ulimit -v 100000; run render t.json -o small.svg; [ "$status" = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'ulimit -v' "$dir/err" && [ ! -e small.svg ])
    result $? "too little memory for Cairo"
fi
done_testing
