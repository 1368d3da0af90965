#!/bin/sh
# Sweeps: every point is the run with its options; the best is marked; tables, JSON and figures agree.
. "${srcdir:-.}/tests/tap.sh"
small="--layers 1 --d-model 16 --heads 2 --ff 32 --vocab 64 --seq-len 4"
step_ns() { sed -n 's/.*"step_ns": *{"median": *\([0-9]*\).*/\1/p' "$1"; }

run sweep --backend sim --model gpt2 --cluster rtx-pcie-x2 --ranks 2 --bucket-mb 1..64*2 --overlap none,backward --report s.json
[ "$status" = 0 ] && [ "$(grep -c '^ *[0-9].* \(none\|backward\) ' "$dir/out")" = 14 ] && [ -s parprof-sweep.svg ]
result $? "a row a point, and a figure"
[ "$(grep -c '\*$' "$dir/out")" = 1 ] &&
    awk '$2 == "none" || $2 == "backward" { if (!best || $3 < best) best = $3; if (/\*$/) marked = $3 } END { exit best != marked }' "$dir/out"
result $? "the shortest step is marked"
ok=0
for mib in 1 8 64; do
    run --backend sim --model gpt2 --cluster rtx-pcie-x2 --ranks 2 --bucket-mb $mib --figure none -q --report r.json
    grep -q "\"values\": *\[\"$mib\", *\"backward\"\].*\"step_ns\": *$(step_ns r.json)[,}]" s.json || ok=1
done
result $ok "a point is the run with its options"

cp s.json first.json
cp parprof-sweep.svg first.svg
run sweep --backend sim --model gpt2 --cluster rtx-pcie-x2 --ranks 2 --bucket-mb 1..64*2 --overlap none,backward --report s.json -q
[ ! -s "$dir/out" ] && cmp -s s.json first.json && cmp -s parprof-sweep.svg first.svg
result $? "the same sweep gives the same bytes, whichever thread takes a point"
run render s.json -o again.svg
[ "$status" = 0 ] && cmp -s again.svg first.svg
result $? "a sweep drawn from its file is the same figure"
rm -f ./*

# shellcheck disable=SC2086
run sweep $small --batch 4 --ranks 2 --backend sim,cpu --steps 2 --warmup 1 --link none --figure none --report s.json
[ "$status" = 0 ] && grep -q '"measured": *true' s.json && grep -q '"measured": *false' s.json && ! grep -q why_not s.json
result $? "each backend of an axis takes the options that are its own"
# shellcheck disable=SC2086
run sweep --backend cpu $small --batch 4 --ranks 2,4 --steps 2 --warmup 1 --link none --link 10,20 --figure none --report s.json
[ "$status" = 0 ] && [ "$(grep -c '"measured": *true' s.json)" = 4 ] && [ "$(grep -c '"predicted_ns": *[1-9]' s.json)" = 4 ]
result $? "points are run for real, and predicted"
rm -f ./*

run sweep --backend sim --model mini --batch 4 --ranks 2,4,8 --figure none
[ "$status" = 0 ] && grep -q '^ *8 .*--batch' "$dir/out" && grep -q '\*$' "$dir/out"
result $? "a point that cannot be says why, and the others stand"
run sweep --backend sim --model mini --batch 4 --ranks 8,16 --figure none
[ "$status" = 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" = 1 ]
result $? "where no point can be, that is an error"

run sweep --backend sim --model mini --batch 8 --mode pipeline --ranks 2,4 --cost unit:F=0,B=0,W=0,C=0 --report zero.json
[ "$status" = 0 ] && [ -s parprof-sweep.svg ] && ! grep -q interrupted "$dir/out" && ! grep -q why_not zero.json && grep -q 'every cost is zero' "$dir/out"
result $? "steps that take no time are steps"
rm -f ./*

run sweep --backend sim --model mini --ranks 2,4 --format svg -o -
[ "$status" = 0 ] && grep -q '^</svg>' "$dir/out" && grep -q '\*$' "$dir/err"
result $? "a figure on standard output moves the table away"
run sweep --backend sim --model mini --ranks 2,4 -o x.svg --report x.svg
[ "$status" = 2 ] && [ -z "$(ls -A)" ]
result $? "figure and report may not be one file"
run sweep --backend sim --model mini --ranks 2,4 --figure timeline
[ "$status" = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ]
result $? "a timeline is of one point"

# shellcheck disable=SC2086
"$PARPROF" sweep --backend cpu $small --batch 4 --steps 100000 --ranks 2,4 --figure none >"$dir/out" 2>"$dir/err" &
sleep 1
kill -INT $!
wait $!
[ $? = 130 ]
result $? "an interrupt ends a sweep"
done_testing
