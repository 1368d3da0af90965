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
cp t.json a-name-that-is-much-longer-than-its-column-1.json && cp t.json a-name-that-is-much-longer-than-its-column-2.json
run render a-name-that-is-*.json --figure compare -o long.svg
[ "$status" = 0 ] && grep -q '>….*column-1.json<' long.svg && grep -q '>….*column-2.json<' long.svg
result $? "long names keep the end, in which they differ"
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
# What PyTorch's profiler writes: one step of a rank, with an all-reduce beside backward.
profile() { # profile RANK RANKS LATER
    printf '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU One"}], "distributedInfo": {"rank": %s, "world_size": %s}, "traceEvents": [\n' "$1" "$2"
    printf '{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 1, "tid": 2, "ts": 150, "dur": 50},\n'
    for i in 1 2 3; do
        printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": %s, "dur": 2, "args": {"correlation": %s}},\n' $((80 + i * 40)) $i
    done
    printf '{"ph": "X", "cat": "kernel", "name": "mm", "pid": 0, "tid": 7, "ts": %s, "dur": 100, "args": {"stream": 7, "correlation": 1}},\n' $((200 + $3))
    printf '{"ph": "X", "cat": "kernel", "name": "mm_backward", "pid": 0, "tid": 7, "ts": %s, "dur": 200, "args": {"stream": 7, "correlation": 2}},\n' $((300 + $3))
    printf '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 9, "ts": %s, "dur": 150, "args": {"stream": 9, "correlation": 3}}]}\n' $((400 + $3))
}
profile 3 8 0 >p3.json
profile 4 8 20 >p4.json
run render p3.json -o p.svg
[ "$status" = 0 ] && grep -q 'PyTorch profile, GPU One, 1 rank: computation hides 67 % of communication' p.svg && grep -q '>rank 3<' p.svg &&
    grep -q 'ranks of the job: 8' p.svg && grep -q 'all-reduce' p.svg
result $? "a trace of PyTorch's profiler is drawn as a timeline"
grep -q '<title>F · mm · 100.0 µs</title>' p.svg && grep -q '<title>all-reduce · ncclDevKernel_AllReduce · 150.0 µs</title>' p.svg
result $? "whose spans tell their kernels"
grep -q '>mm</text>' p.svg && grep -q '>mm_backward</text>' p.svg
result $? "where there is room, by their labels"
run render p4.json p3.json -o p.svg
[ "$status" = 0 ] && grep -q 'GPU One, 2 ranks' p.svg && grep -q '>rank 3<' p.svg && grep -q '>rank 4<' p.svg
result $? "those of two ranks of a job are one"
run render p3.json p4.json --figure compare -o p.svg
[ "$status" = 0 ] && grep -q 'p4.json and p3.json take equally long' p.svg
result $? "or are compared"
! grep -q '>rank ' p.svg
result $? "without a number, as they are of two ranks"
sed 's/GPU One/GPU Two/' p4.json >p5.json
run render p3.json p5.json --figure compare -o p.svg
[ "$status" = 0 ] && grep -q 'GPU Two.* · compared with: GPU One' p.svg
result $? "and of two kinds of device, which the caption names"
run render p3.json --critical-path
[ "$status" = 2 ] && grep -q 'a profile does not say what waits for what' "$dir/err"
result $? "a profile has no critical path"
run render p3.json --note 'here@mm_backward' -o p.svg
[ "$status" = 0 ] && grep -q '>here<' p.svg
result $? "a note points at a kernel"
run render p3.json p4.json --figure overlap
[ "$status" = 2 ] && grep -q 'needs gradient buckets' "$dir/err"
result $? "a figure of buckets needs buckets"
run render p3.json p3.json
[ "$status" = 2 ] && grep -q 'p3.json ... p3.json are of ranks 3 and 3' "$dir/err"
result $? "a rank is given once"
run render p3.json t.json
[ "$status" = 2 ] && grep -q 'differ in mode, model or ranks' "$dir/err"
result $? "and is not another program's step"
gzip -c p3.json >p3.json.gz
run render p3.json.gz
[ "$status" = 2 ] && grep -q 'compressed: unpack it first' "$dir/err"
result $? "what is compressed is to be unpacked"
gzip -dc p3.json.gz >p.pipe
run render - -o piped.svg <p.pipe
[ "$status" = 0 ] && grep -q '>rank 3<' piped.svg
result $? "through a pipe, too"
if [ -n "${SANITIZED:-}" ]; then
    skip "too little memory for Cairo" "a sanitizer takes more address space than there is memory"
else
    (ulimit -v 100000; run render t.json -o small.svg; [ "$status" = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'ulimit -v' "$dir/err" && [ ! -e small.svg ])
    result $? "too little memory for Cairo"
fi
done_testing
