#!/bin/sh
# Comparing from the command line: statuses, what is said, files out, histories.
. "${srcdir:-.}/tests/tap.sh"

# report FILE FACTOR [STEPS] [RANKS] [MEMBERS]: a report made by hand, of steps around 100 ms times FACTOR; noise=N: of 200 / N %
noise=200
report() {
    awk -v factor="$2" -v steps="${3:-12}" -v ranks="${4:-2}" -v members="${5:-}" -v noise=$noise 'BEGIN {
        printf "{\"schema\": \"parprof.report/1\", \"mode\": \"ddp\", \"backend\": \"cpu\", \"simulated\": false, "
        printf "\"ranks\": %d, \"model\": \"mini\", \"options\": {\"batch\": \"8\"}, %s\"samples\": {\"step_ns\": [", ranks, members
        for (i = 0; i < steps; i++) {
            x = 1e8 * factor * (1 + ((i * 7) % 5 - 2) / noise)
            printf "%s[%d, %d]", i ? ", " : "", x, x - 1000000
        }
        print "]}}"
    }' >"$1"
}
says() { grep -q -- "$1" "$dir/out"; }
report base.json 1
report same.json 1.004
report slow.json 1.12
report fast.json 0.88

run compare base.json same.json
[ "$status" = 0 ] && says '^SAME$' && says 'armed: 1 metric, n = 12, detects ≥ [0-9.]* %'
result $? "the same code is the same, and it is said what could be seen"
noise=50
report wild.json 1 && report wilder.json 1 40
noise=200
run compare wild.json wild.json
needed=$(sed -n 's/^for 10 %: --steps \([0-9]*\) a side$/\1/p' "$dir/out")
[ -n "$needed" ] && [ "$needed" -gt 12 ] && [ "$needed" -lt 40 ] && run compare wilder.json wilder.json && ! says '^for 10 %'
result $? "what would see a rise of twice the threshold is said where this does not"
run compare base.json slow.json
[ "$status" = 1 ] && says '^step, ms .*+12.0 %.*SLOWER' && says '^SLOWER$'
result $? "slower ends with 1"
run compare base.json fast.json
[ "$status" = 0 ] && says '^FASTER$'
result $? "faster ends with 0"
run compare base.json slow.json --threshold 15
[ "$status" = 0 ] && run compare base.json slow.json --threshold step=3,idle=20 && [ "$status" = 1 ]
result $? "thresholds are the caller's"
run compare base.json slow.json --threshold overlap=3
[ "$status" = 2 ] && grep -q 'takes PCT' "$dir/err"
result $? "a threshold of what is not gated is refused"

report six.json 1 6 && report five.json 1 5 && report four.json 1 12 4
report hot.json 1 12 2 '"labels": {"clocks": "GPU 0: thermal slowdown"}, '
report cap.json 1 12 2 '"environment": {"gpu 0 clocks limited by after": "power cap"}, '
report holes.json 1 12 2 '"environment": {"records dropped": "3"}, '
sed 's/report.1/report\/9/' base.json >future.json
incomparable() { # incomparable FILE REASON
    run compare base.json "$1"
    [ "$status" = 3 ] && says 'INCOMPARABLE' && says "$2"
    result $? "incomparable: $2"
}
incomparable five.json '5 samples, and 6'
incomparable four.json 'ranks is 2 in base.json and 4 in four.json'
incomparable hot.json 'thermal slowdown'
incomparable holes.json 'dropped records'
incomparable future.json 'parprof.report/9'
run compare base.json six.json
[ "$status" = 0 ] && run compare base.json cap.json && [ "$status" = 0 ]
result $? "six steps are enough, and a power cap is no reason"

: >empty.json
head -c 300 base.json >cut.json
echo '{"traceEvents": []}' >foreign.json
mkdir nothing
for file in missing.json empty.json cut.json foreign.json nothing; do
    run compare base.json $file
    [ "$status" = 2 ] && grep -q "$file" "$dir/err" && [ ! -s "$dir/out" ]
    result $? "bad input: $file ends with 2"
    run compare $file base.json
    [ "$status" = 2 ]
    result $? "bad input as BASE: $file ends with 2"
done

echo '{"schema": "parprof.report/1"}' >bare.json
echo '{"schema": "parprof.report/1", "mode": "ddp", "ranks": 2}' >untimed.json
lacks() { # lacks FILE MEMBER ARGUMENT...
    lacking="$1: \"$2\".* is missing"
    shift 2
    run "$@"
    [ "$status" = 2 ] && grep -q "$lacking" "$dir/err" && [ ! -s "$dir/out" ] && [ ! -e h.jsonl ]
    result $? "bad input: $lacking, $1"
}
lacks bare.json:1 mode compare base.json bare.json
lacks bare.json:1 mode compare bare.json base.json
lacks bare.json:1 mode history h.jsonl --add bare.json
lacks bare.json:1 mode history bare.json
lacks bare.json:1 mode render bare.json -o -
lacks bare.json:1 mode gate --base 'touch bare.json' --new 'touch bare.json' --samples trace:bare.json
lacks untimed.json:1 samples compare base.json untimed.json
lacks untimed.json:1 samples history h.jsonl --add untimed.json

sed 's/\[\[[0-9]*/[[NaN/' base.json >nan.json
run compare nan.json base.json
[ "$status" = 2 ] && grep -q 'nan.json:1: .*found NaN, should be a whole number' "$dir/err"
result $? "bad input: a NaN is called so"
run compare base.json --
[ "$status" = 2 ] && grep -q "takes BASE... \[--\] NEW..., and 'base.json' is all that is named" "$dir/err"
result $? "one side alone is refused"
long=$(printf 'ü%.0s' $(seq 3000))
run compare base.json "$long"
[ "$status" = 2 ] && [ "$(wc -c <"$dir/err")" -lt 1100 ] && grep -q "^parprof: cannot .*ü…ü.*: File name too long$" "$dir/err"
result $? "a name of 6,000 bytes is not said whole, and nothing of it is half"
run plan --report r.json
[ "$status" = 2 ] && grep -q "is an option of 'run' and 'sweep', not of 'plan'" "$dir/err"
result $? "the commands of an option are listed"
run plan --model mini --format json -o /proc/none.json
[ "$status" = 2 ] && grep -q "cannot write '/proc/none.json': No such file or directory$" "$dir/err"
result $? "what cannot be written has the name that was given"

# 24 steps in two humps of unlike weight: neither a difference nor none.
awk '{ gsub(/\[[0-9]+, [0-9]+\]/, "X"); n = 0; while (sub(/X/, "[" (n % 2 ? 108000000 : 100000000) "]")) n++; print }' base.json >humps.json
run compare humps.json same.json
[ "$status" = 0 ] && says '^AMBIGUOUS$' && grep -q warning "$dir/err" && run compare humps.json same.json --inconclusive fail && [ "$status" = 3 ]
result $? "ambiguous ends with 0 and a warning, or with 3"

mkdir old new
for i in 1 2 3 4 5 6; do
    report old/$i.json 1.00$i
    report new/$i.json 1.10$i
done
echo '{"schema": "parprof.sweep/1"}' >old/sweep.json
run compare old new
[ "$status" = 1 ] && says 'n = 6 runs' && grep -q 'passed over 1 line or file that is no report$' "$dir/err"
result $? "folders: six runs a side are the samples, other files are passed over"
report new/10.json 1.106
run compare old new --json ten.json
grep -q '"new/6.json", "new/10.json"' ten.json
result $? "a folder's runs are in the order of their numbers"
# A machine that slows down over the runs of NEW, by more than it differs from BASE.
mkdir wander
for i in 1 2 3 4 5 6; do report wander/$i.json 1.$(printf %02d $((i * i / 4 + 4))); done
run compare old wander
[ "$status" = 0 ] && says '^AMBIGUOUS$' && says 'where the machine wanders: measure more, or let .parprof gate. run both'
result $? "runs that wander are ambiguous, and the gate is named"
run compare old/1.json old/2.json -- new/1.json new/2.json --json two.json
[ "$status" = 1 ] && says 'n = 24' && grep -q '"base": \["old/1.json", "old/2.json"\]' two.json
result $? "several files a side"
run compare old/1.json old/2.json new/1.json
[ "$status" = 2 ] && grep -q -- '--' "$dir/err"
result $? "three files without -- are refused"

run compare base.json slow.json --json c.json --junit c.xml --markdown c.md -q
[ "$status" = 1 ] && [ ! -s "$dir/out" ] && grep -q '"verdict": "slower"' c.json && grep -q 'failures="1"' c.xml && grep -q 'SLOWER' c.md
result $? "JSON, JUnit and Markdown"
run compare base.json same.json --markdown c.md
[ "$(grep -c '^### parprof compare' c.md)" = 2 ]
result $? "Markdown is appended, as to a step summary"
run compare base.json slow.json --json - && python3 -c 'import json, sys; json.load(sys.stdin)' <"$dir/out" 2>/dev/null || ! command -v python3 >/dev/null
result $? "JSON on standard output stands alone"
run compare base.json slow.json --json c.json --junit ./c.json
[ "$status" = 2 ] && run compare base.json slow.json --json base.json && [ "$status" = 2 ]
result $? "outputs overwrite neither each other nor what is read"
GITHUB_ACTIONS=true "$PARPROF" compare base.json slow.json >"$dir/out"
[ "$(grep -c '^::error ' "$dir/out")" = 1 ]
result $? "an annotation for GitHub"

run compare h.jsonl base.json
[ "$status" = 2 ] && [ ! -e h.jsonl ]
result $? "nothing to compare with fails, and leaves nothing"
run compare h.jsonl base.json --on-missing seed
[ "$status" = 0 ] && [ "$(wc -l <h.jsonl)" = 1 ]
result $? "the first run begins a history"
run compare h2.jsonl hot.json --on-missing seed
[ "$status" = 3 ] && [ ! -e h2.jsonl ]
result $? "what cannot be compared does not begin one"
for i in 1 2 3; do run compare h.jsonl same.json --record || break; done
run compare h.jsonl slow.json --record
[ "$status" = 1 ] && run compare h.jsonl slow.json --record && [ "$status" = 1 ] && run compare h.jsonl same.json && [ "$status" = 0 ]
result $? "what was slower is never what others are compared with"
run history h.jsonl
[ "$(grep -c 'h.jsonl:' "$dir/out")" -ge 6 ] && [ "$(grep -c ' slower$' "$dir/out")" = 2 ] && run history h.jsonl --last 1 && [ "$(grep -c 'h.jsonl:' "$dir/out")" = 1 ]
result $? "history lists"
echo notes >notes.txt && cp four.json report.json
ok=0
for other in notes.txt report.json; do
    cp $other before
    run history $other --add four.json
    [ "$status" = 2 ] && grep -q 'is no history' "$dir/err" && cmp -s $other before || ok=1
done
result $ok "nothing is appended to what is no history"
run history h.jsonl --add four.json && run compare h.jsonl four.json
[ "$status" = 0 ] && run compare h.jsonl five.json && [ "$status" = 3 ]
result $? "of a history runs of the same work are taken"
chmod 640 h.jsonl
run history h.jsonl --keep 2
kept=$(stat -c %a h.jsonl)
[ "$status" = 0 ] && [ "$(wc -l <h.jsonl)" = 5 ] && run compare h.jsonl same.json && [ "$status" = 0 ]
result $? "pruning keeps the last of each kind of work that others can be compared with"
[ "$kept" = 640 ]
result $? "pruning keeps the rights of the file"
printf '{"schema": "parprof.history/1", "fing' >>h.jsonl
run history h.jsonl --add base.json
[ "$status" = 0 ] && run history h.jsonl && [ "$(grep -c 'h.jsonl:' "$dir/out")" = 6 ] && grep -q 'passed over 1 line that is cut' "$dir/err"
result $? "a line that was cut harms no other"

run compare small.jsonl base.json --on-missing seed
for i in 1 2 3 4 5 6 7 8; do
    (ulimit -f 2 && "$PARPROF" compare small.jsonl base.json --record >"$dir/out" 2>"$dir/err")
    status=$?
    [ $status = 0 ] || break
done
[ "$status" = 2 ] && says '^SAME$' && grep -q 'cannot append' "$dir/err" && [ -z "$(tail -c 1 small.jsonl | tr -d '\n')" ]
result $? "where the disk is full it is said, the verdict stands, and no half line is left"

# Outputs onto what is full or read-only, and a summary that is nearly as long as GitHub takes.
for option in --json --junit --markdown; do
    run compare base.json slow.json $option /dev/full
    [ "$status" = 2 ] && says '^SLOWER$' && grep -q '/dev/full' "$dir/err"
    result $? "$option on a full disk is said, and the verdict printed"
done
run compare read.jsonl base.json --on-missing seed
chmod 755 "$dir" && chmod 777 . && chmod 444 read.jsonl
as=
[ "$(id -u)" != 0 ] || as='setpriv --reuid=65534 --clear-groups'
if $as true 2>/dev/null && ! $as sh -c 'echo >>read.jsonl' 2>/dev/null && $as test -x "$PARPROF"; then
    $as "$PARPROF" compare read.jsonl same.json --record >"$dir/out" 2>"$dir/err"
    [ $? = 2 ] && says '^SAME$' && grep -q 'cannot append.*the verdict stands' "$dir/err" && [ "$(wc -l <read.jsonl)" = 1 ]
    result $? "a history that is read-only is said, and the verdict printed"
else
    skip "a history that is read-only is said, and the verdict printed" "everything here may be written by this user"
fi
head -c 1048500 /dev/zero | tr '\0' x >long.md
run compare base.json slow.json --markdown long.md
[ "$status" = 1 ] && [ "$(wc -c <long.md)" -le 1048576 ] && [ "$(wc -c <long.md)" -ge 1048500 ]
result $? "a step summary stays below GitHub's 1 MiB"

# Where the difference is: the same simulation with its links slower.
simulate() { # simulate FOLDER GBPS [OPTION...]
    mkdir -p "$1" && sed "s/^gbps = .*/gbps = $2/" "$srcdir/sim/clusters/a100x4.ini" >"$1/c.ini" || return
    (cd "$1" && shift 2 && "$PARPROF" --backend sim --model bert-base --layers 3 --ranks 4 --cluster ./c.ini --bucket-mb 1000 \
        --report r.json --trace t.json --figure none -q "$@")
}
simulate quick 1800 && simulate late 20
sum() { # of the items, and the difference
    awk '/"items": / { on = 1 } /"parts": / { on = 0 } on && match($0, /"ns": -?[0-9]+/) { s += substr($0, RSTART + 6, RLENGTH - 6) }
        match($0, /"base_ns": [0-9]+, "new_ns": [0-9]+, "rank"/) { split(substr($0, RSTART), f, /[ ,]+/); d = f[4] - f[2] }
        END { exit !(s == d && d > 0) }' "$1"
}
run compare quick/r.json late/r.json --json w.json --junit w.xml --markdown w.md
[ "$status" = 1 ] && says '^NEW is .* slower than BASE: .* more in the exposed all-reduce of bucket 0 (.* times as long)' && sum w.json
result $? "where is said, in parts that add up"
grep -q 'all-reduce of bucket 0' w.xml && grep -q 'all-reduce of bucket 0' w.md && grep -q '"of": "traces"' w.json
result $? "in every output"
run compare quick/t.json late/t.json
[ "$status" = 1 ] && says 'more in the exposed all-reduce of bucket 0'
result $? "traces are compared as reports are"
mv late/t.json kept.json && cp quick/t.json late/t.json
run compare quick/r.json late/r.json
[ "$status" = 1 ] && says 'more in exposed communication' && grep -q "'late/t.json' is not the trace of late/r.json" "$dir/err"
result $? "a trace that was overwritten is left aside, and what reports know is said"
mv kept.json late/t.json
sed 's/"trace": "t.json"/"trace": "..\/quick\/t.json"/' quick/r.json >late/other.json
run compare late/other.json late/r.json
[ "$status" = 1 ] && says 'more in exposed communication' && ! grep -q "not the trace of late/other" "$dir/err"
result $? "a report names a trace in its own folder only"
run compare where.jsonl quick/r.json --on-missing seed && run compare where.jsonl late/r.json
[ "$status" = 1 ] && says 'slower than BASE: .* more in exposed communication'
result $? "of a history too"
run compare base.json same.json
! says '^NEW '
result $? "of what is the same nothing is said"

# The trend of a history.
run history h.jsonl --figure trend -o trend.svg --lang ko --theme dark
[ "$status" = 0 ] && grep -q 'wrote trend.svg' "$dir/out" && grep -q '<svg' trend.svg
result $? "a history's trend"
run history h.jsonl --last 2 -o trend.txt
[ "$status" = 0 ] && grep -q '2 runs' trend.txt
result $? "of its last runs"
run history h.jsonl --figure timeline
[ "$status" = 2 ] && grep -q 'figure timeline' "$dir/err"
result $? "a history has no timeline"
# Ten steps as PyTorch's profiler writes them, whose backward takes so many us; forward takes 1000 and a little.
profiled() { # profiled US [NUMBER]: steps are counted on from there
    printf '{"schemaVersion": 1, "traceEvents": [\n'
    for i in 1 2 3 4 5 6 7 8 9 10; do
        at=$((i * 10000))
        printf '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%s", "pid": 1, "tid": 1, "ts": %s, "dur": 9000},\n' $((${2:-0} + i)) $at
        printf '{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: A", "pid": 1, "tid": 2, "ts": %s, "dur": 50},\n' $((at + 100))
        printf '{"ph": "X", "cat": "cuda_runtime", "name": "l", "pid": 1, "tid": 1, "ts": %s, "dur": 2, "args": {"correlation": %s}},\n' $((at + 10)) $((2 * i))
        printf '{"ph": "X", "cat": "cuda_runtime", "name": "l", "pid": 1, "tid": 2, "ts": %s, "dur": 2, "args": {"correlation": %s}},\n' $((at + 110)) $((2 * i + 1))
        printf '{"ph": "X", "cat": "kernel", "name": "f", "pid": 0, "tid": 7, "ts": %s, "dur": %s, "args": {"stream": 7, "correlation": %s}},\n' \
            $((at + 200)) $((1000 + i % 3)) $((2 * i))
        printf '{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": %s, "dur": %s, "args": {"stream": 7, "correlation": %s}},\n' \
            $((at + 1300)) "$1" $((2 * i + 1))
    done
    printf '{"ph": "i", "ts": 0}]}\n'
}
profiled 2000 >p-base.json
profiled 2600 >p-slow.json
run compare p-base.json p-base.json
[ "$status" = 0 ] && grep -q '^SAME' "$dir/out"
result $? "traces of PyTorch's profiler are compared"
profiled 2000 100 | sed '$d' >p-later.json
printf '{"ph": "X", "cat": "kernel", "name": "early", "pid": 0, "tid": 7, "ts": 5, "dur": 9, "args": {"stream": 7}}]}\n' >>p-later.json
run compare p-base.json p-later.json
[ "$status" = 0 ] && grep -q '^SAME' "$dir/out"
result $? "whatever their steps are numbered, and what lies outside of them"
sed '0,/"dur": 2000/s//"dur": null/' p-base.json >p-holes.json
run compare p-base.json p-holes.json
[ "$status" = 3 ] && grep -q 'have no time that can be read' "$dir/out"
result $? "one with holes is not"
run compare p-base.json p-slow.json
[ "$status" = 1 ] && grep -q '^step, ms .*SLOWER' "$dir/out" && grep -q '600.0 µs more in .*backward' "$dir/out"
result $? "and where one is slower is said"
done_testing
