#!/bin/sh
# The gate around commands that print numbers, and around those that do anything else: what is said, statuses, nothing left
# behind.
. "${srcdir:-.}/tests/tap.sh"

# ./fake MS: three steps around MS ms, in several forms
cat >fake <<'END'
#!/bin/sh
echo "loading"
for i in 7 1 3; do
    echo "step $i took $1.$i ms"
    echo "{\"loss\": null, \"step_ms\": $1.$i}"
done
END
chmod +x fake
re='regex:took ([0-9.]+) ms'
says() { grep -q -e "$1" "$dir/out"; }
errs() { grep -q -e "$1" "$dir/err"; }
gate() { # gate BASE NEW [OPTION...]
    b=$1 w=$2
    shift 2
    run gate --base "$b" --new "$w" --samples "$re" "$@"
}

gate './fake 100' './fake 101'
[ "$status" = 0 ] && says '^SAME$' && says 'n = 6 pairs, detects ≥ 5.0 %' && says 'at most 0.9 %'
result $? "the same, after six pairs"
gate './fake 100' './fake 112'
[ "$status" = 1 ] && says '^SLOWER$' && says 'n = 8 pairs' && says '^step, ms  100.3  112.3  +12.0 %'
result $? "slower ends with 1, after eight"
gate './fake 112' './fake 100' && says '^FASTER$'
result $? "faster ends with 0"
gate './fake 100' './fake 112' --threshold 15
[ "$status" = 0 ] && gate './fake 100' './fake 103' --threshold 2 && [ "$status" = 1 ]
result $? "the threshold is the caller's"
gate './fake 100' './fake 112' -q --json c.json --junit c.xml --markdown c.md --history h.jsonl
[ "$status" = 1 ] && [ ! -s "$dir/out" ] && grep -q '"samples_are": "pairs"' c.json && grep -q 'name="parprof gate" tests="1" failures="1"' c.xml &&
    grep -q '^### parprof gate: slower' c.md && run history h.jsonl && says ' gate  ./fake 112 .* 8  *112.3  slower$'
result $? "JSON, JUnit, Markdown and a history"

# Order, and what is dropped at the start of a run
cat >turn <<'END'
#!/bin/sh
printf %s "$1" >>turns
echo "took 900 ms"; echo "took 100 ms"; echo "took 100.2 ms"
END
chmod +x turn
gate './turn A' './turn B' --warmup 1
[ "$status" = 0 ] && says ' 100.1  100.1 ' && [ "$(cat turns)" = ABBABAABABBA ]
result $? "A B B A, B A A B, the warm-up left out"

run gate --base './fake 100' --new './fake 112' --samples jsonl:step_ms
[ "$status" = 1 ] && says ' 100.3  112.3 '
result $? "lines of JSON among others"
run gate --base 'echo 20 it/s' --new 'echo 25 it/s' --samples 'regex:([0-9]+) it' --unit per-s
[ "$status" = 0 ] && says '^FASTER$' && says ' 50.00  40.00 '
result $? "rates are times upside down"
run gate --base 'printf "a took 1.5 s\rb took 1.5 s, took 1.7 s"' --new 'echo took 1.5 s' --samples 'regex:took ([0-9.]+) s' --unit s
[ "$status" = 0 ] && says ' 1500.0  1500.0 '
result $? "several matches a line, lines that end in CR or not at all"

# Traces and reports
cat >torch <<'END'
#!/bin/sh
sleep 0.01
{
    printf '{"schemaVersion": 1, "traceEvents": [\n{"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "ts": 10, "dur": 1}'
    for i in 1 2 3; do
        printf ',\n{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%s", "ts": %s.250, "dur": %s.125}' $i $((i * 100000)) "$1"
    done
    printf ',\n{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 5}]}\n'
} >trace.json
END
chmod +x torch
run gate --base './torch 50000' --new './torch 60000' --samples trace:trace.json
[ "$status" = 1 ] && says ' 50.00  60.00 '
result $? "a trace of PyTorch's profiler"
run gate --base './torch 50000' --new true --samples trace:trace.json
[ "$status" = 2 ] && errs "NEW, run 1 ('true'): it did not write 'trace.json', which is from before"
result $? "a trace from before is none"
sim="$PARPROF --backend sim --model mini --ranks 2 --figure none -q"
run gate --base "$sim --trace t.json" --new "sleep 0.01; $sim --trace t.json" --samples trace:t.json
[ "$status" = 0 ] && says '^SAME$'
result $? "a trace of ours"
run gate --base "sleep 0.01; $sim --report r.json" --new "$sim --report r.json" --samples trace:r.json
[ "$status" = 0 ] && says '^SAME$'
result $? "a report of ours"
run gate --base "$sim --report r.json" --new "$sim --batch 16 --report r.json" --samples trace:r.json
[ "$status" = 3 ] && says 'batch is 64 in .* and 16 in' && says 'armed: 0'
result $? "reports of different work are incomparable, at once"
run gate --base true --new 'echo garbage >g.json' --samples trace:g.json
[ "$status" = 2 ] && errs "BASE, run 1 ('true'): cannot read 'g.json'" && run gate --base 'echo garbage >g.json' --new true --samples trace:g.json &&
    [ "$status" = 2 ] && errs "g.json"
result $? "no trace, and one that is none"

# Commands that go wrong
bad() { # bad NAME PATTERN COMMAND [OPTION...]
    name=$1 pattern=$2 w=$3
    shift 3
    gate './fake 100' "$w" "$@"
    [ "$status" = 2 ] && errs "$pattern" && [ "$(wc -l <"$dir/err")" = 1 ] && [ ! -s "$dir/out" ]
    result $? "$name"
}
bad "nothing printed" "NEW, run 1 ('true'): its standard output has nothing for --samples regex" true
bad "garbage printed" 'standard output ends with: some | gar??\[31mbage$' 'echo some; printf "gar\001\033[31mbage\n"'
bad "status 3" 'ended with status 3; its standard error ends with: two | three$' 'echo two >&2; echo; echo three >&2; exit 3'
bad "a crash" 'signal 11 (Segmentation fault)' 'kill -SEGV $$'
bad "a command that is not there" 'ended with status 127; .*not-there' ./not-there
bad "a number that is none" 'is no number, in: "took 1.2.3 ms"' 'echo took 1.2.3 ms'
bad "a time of 0" 'above 0, in: "took 0 ms"' 'echo took 0 ms'
bad "all of it warm-up" 'it gave 3 steps, and --warmup drops 3' './fake 100' --warmup 3
gate 'exit 4' './fake 100'
[ "$status" = 2 ] && errs '^parprof: BASE, run 1 .*status 4'
result $? "it is said which"
gate './fake 100' 'head -c 10000000 /dev/zero | tr "\0" x; yes 0123456789 | head -c 10000000; ./fake 100'
[ "$status" = 0 ] && says '^SAME$'
result $? "20 MB of output, half of it one line"
gate './fake 100' 'head -c 10000000 /dev/urandom | tr -d "0-9" >&2; printf "\377\376\0 took 100.3 ms \377\n"'
[ "$status" = 0 ] && says '^SAME$'
result $? "invalid UTF-8 and zeros, 10 MB of errors"
gate './fake 100' "printf '\\377\\001\\n' >&2; exit 1"
[ "$status" = 2 ] && ! LC_ALL=C grep -q "$(printf '[\001\377]')" "$dir/err"
result $? "what it says of that can be printed"

# Nothing stays behind
alive() { # alive FILE: whether the process whose number it has still runs
    [ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null
}
gate './fake 100' 'sh -c "echo \$\$ >a; exec sleep 300" & setsid sh -c "echo \$\$ >b; exec sleep 300" & ./fake 100; while [ ! -s a ] || [ ! -s b ]; do sleep 0.01; done'
[ "$status" = 0 ] && [ -s a ] && ! alive a && [ -s b ] && ! alive b
result $? "grandchildren end with their run, in the group or out of it"
gate './fake 100' 'trap "" TERM; echo $$ >a; setsid sh -c "echo \$\$ >b; exec sleep 300" & while :; do sleep 300; done' --budget 1s --junit j.xml
[ "$status" = 3 ] && says 'INCOMPARABLE: 0 pairs of runs, and 6 are needed; the budget of 1s was over while NEW ran' && [ -s a ] && ! alive a &&
    [ -s b ] && ! alive b && grep -q 'skipped="1"' j.xml
result $? "what hangs ends with the budget, whatever it does about it"
gate './fake 100' 'sleep 1; ./fake 100' --budget 4s
[ "$status" = 3 ] && says 'do not fit the budget of 4s: raise --budget to'
result $? "what will not fit the budget is not waited for"
rm -f a
"$PARPROF" gate --base './fake 100' --new 'echo $$ >a; exec sleep 300' --samples "$re" >"$dir/out" 2>"$dir/err" &
pid=$!
while [ ! -s a ]; do sleep 0.05; done
kill -INT $pid
wait $pid
[ $? = 130 ] && ! alive a && errs 'interrupted after 0 pairs: no verdict'
result $? "an interrupt ends both"

gate 'sleep 4; ./fake 100' 'sleep 4; ./fake 100' --budget 30s
[ -s "$dir/err" ] && ! grep -qv '^parprof: pair [1-6] of 6: .* runs.*; [0-9]* s of 30s$' "$dir/err"
result $? "a log gets a line of progress now and then"
rm -f a b c
"$PARPROF" gate --base 'sh -c "echo \$\$ >a; exec sleep 300" & setsid sh -c "echo \$\$ >b; exec sleep 300" & echo $$ >c; sleep 300; true' \
    --new './fake 100' --samples "$re" >"$dir/out" 2>"$dir/err" &
pid=$!
while [ ! -s a ] || [ ! -s b ] || [ ! -s c ]; do sleep 0.05; done
{ kill -KILL $pid && wait $pid; } 2>/dev/null
tries=0
while { alive a || alive b || alive c; } && [ $((tries += 1)) -lt 200 ]; do sleep 0.05; done
! alive a && ! alive b && ! alive c
result $? "a gate that is killed takes its command with it"

# Until it is clear
cat >wild <<'END'
#!/bin/sh
n=$(cat "$1" 2>/dev/null || echo 0)
echo $((n + 1)) >"$1"
echo "took $((100 + (n * 37 + $2) % 23 * 3)) ms"
END
chmod +x wild
gate './wild x 0' './wild y 11' --max-pairs 12
[ "$status" = 0 ] && says '^AMBIGUOUS$' && says 'raise --max-pairs' && errs warning && says 'n = 12 pairs'
result $? "ambiguous passes with a warning"
gate './wild x 0' './wild y 11' --max-pairs 12 --inconclusive fail
[ "$status" = 3 ]
result $? "or does not"

# Options
refused() { # refused NAME PATTERN OPTION...
    name=$1 pattern=$2
    shift 2
    run gate "$@"
    [ "$status" = 2 ] && errs "$pattern"
    result $? "refused: $name"
}
refused "no command" "needs --base" --new true --samples "$re"
refused "no samples" "needs --samples" --base true --new true
refused "a regex without a group" "needs a group" --base true --new true --samples regex:abc
refused "a regex that is none" "samples regex:(" --base true --new true --samples 'regex:('
refused "samples of no kind" "takes regex:RE" --base true --new true --samples abc
refused "a unit that is none" "takes ns, us" --base true --new true --samples "$re" --unit minutes
refused "a budget that is none" "takes a time" --base true --new true --samples "$re" --budget never
refused "a threshold of what is not measured" "takes no idle" --base true --new true --samples "$re" --threshold idle=3
done_testing
