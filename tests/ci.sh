#!/bin/sh
# The ready files for CI: they are YAML whose steps are shell, and their script, of runs whose times are made by hand.
. "${srcdir:-.}/tests/tap.sh"
real=$PARPROF script=$srcdir/examples/ci/timing.sh
github=$srcdir/.github/workflows/gpu-timing.yml gitlab=$srcdir/examples/ci/gitlab-ci.yml
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY

# In place of runs, reports and traces of a simulation with steps of 100 ms times FACTOR; the rest is the program's.
cat >stub <<STUB
#!/bin/sh
[ "\$1" = run ] || exec "$real" "\$@"
[ -z "\${NO_GPU:-}" ] || { echo 'parprof: backend cuda: there is <no> "GPU" & no driver' >&2; exit 4; }
[ -z "\${BROKEN:-}" ] || exit 5
while [ "\$1" != --report ]; do shift; done
awk -v factor="\${FACTOR:-1}" -v noise="\${NOISE:-100}" -v ranks="\${RANKS:-2}" -v name="\$(basename "\$2")" 'BEGIN {
    srand(name + 0)
    printf "{\"schema\": \"parprof.report/1\", \"mode\": \"ddp\", \"backend\": \"cpu\", \"simulated\": false, \"ranks\": %d, \"model\": \"mini\", ", ranks
    printf "\"trace\": \"%s\", \"options\": {}, \"step_ns\": {\"median\": %d}, ", substr(name, 1, 1) ".trace.json", 1e8 * factor
    printf "\"partition_ns\": {\"compute\": %d, \"exposed_comm\": 0, \"exposed_copy\": 0, \"idle\": 0, \"span\": %d}, ", 1e8 * factor, 1e8 * factor
    printf "\"phases_ns\": {\"forward\": 30000000, \"backward\": %d, \"comm\": 0, \"optimizer\": 0}, \"samples\": {\"step_ns\": [", 1e8 * factor - 3e7
    for (i = 0; i < 10; i++) printf "%s[%d]", i ? ", " : "", 1e8 * factor * (1 + (rand() - 0.5) / noise)
    print "]}}"
}' </dev/null >"\$2"
cp "$dir/work/trace.json" "\$4"
STUB
chmod +x stub
"$real" --mode single --backend sim --model mini --figure none -q --trace trace.json >/dev/null || exit 99

timing() { # timing NAME=VALUE...: the script in a folder of the runner
    env PARPROF="$dir/work/stub" BACKEND=cpu RUNS=6 "$@" sh "$script" >"$dir/out" 2>"$dir/err"
    status=$?
}
timing NO_GPU=1 GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$dir/work/step.md"
[ "$status" = 0 ] && grep -q '^::notice .*there is <no>' "$dir/out" && grep -q 'no driver' step.md && grep -q 'skipped message=.*&lt;no&gt; &quot;GPU&quot; &amp; no' gpu-timing/junit.xml && [ ! -e gpu-timing-cache/history.jsonl ]
result $? "without a GPU it is skipped, with the reason everywhere"
timing BROKEN=1
[ "$status" = 2 ]
result $? "a run that fails is no success"
timing
[ "$status" = 0 ] && [ "$(wc -l <gpu-timing-cache/history.jsonl)" = 6 ] && [ -s gpu-timing/timeline.svg ] && [ -s gpu-timing/trend.svg ]
result $? "the first run begins the history"
timing FACTOR=1.005
[ "$status" = 0 ] && grep -q '^SAME$' "$dir/out" && [ "$(wc -l <gpu-timing-cache/history.jsonl)" = 12 ] && [ -s gpu-timing/compare.svg ] &&
    grep -q 'failures="0"' gpu-timing/junit.xml && grep -q '### parprof compare: same' gpu-timing/summary.md
result $? "the same code ends with 0, with all artifacts"
timing FACTOR=1.3 GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$dir/work/step.md"
[ "$status" = 1 ] && grep -q '^::error .*backward' "$dir/out" && grep -q 'failures="1"' gpu-timing/junit.xml && grep -q 'SLOWER' step.md && grep -q 'more in backward' step.md
result $? "30 % more end with 1, and where is said"
timing FACTOR=1.3
[ "$status" = 1 ]
result $? "what was slower is not what the next run is compared with"
timing FACTOR=1 RECORD=no
lines=$(wc -l <gpu-timing-cache/history.jsonl)
[ "$status" = 0 ] && [ "$lines" = 24 ]
result $? "what is not to be recorded is not"
timing NOISE=0.6
[ "$status" = 0 ] && grep -q '^INCOMPARABLE' "$dir/out" && grep -q 'cannot be compared' "$dir/out" && timing NOISE=0.6 INCONCLUSIVE=fail && [ "$status" = 3 ]
result $? "what cannot be compared passes with a warning, or does not"
timing RANKS=4
[ "$status" = 0 ] && grep -q 'nothing to compare with yet' "$dir/out"
result $? "other work begins a series of its own"

# The walk, with the same stub: its options say how long steps take.
cat >walker <<STUB
#!/bin/sh
FACTOR=1 RANKS=2
export FACTOR RANKS
if [ "\$1" = gate ]; then exit 1; fi
for option; do
    case \$before in
    --inject-delay) FACTOR=1.\$option ;;
    --ranks) RANKS=\$option ;;
    esac
    before=\$option
done
exec "$dir/work/stub" "\$@"
STUB
chmod +x walker
PARPROF=./walker sh "$srcdir/examples/ci/walk.sh" walk >"$dir/out" 2>"$dir/err" && [ "$(grep -c '^(ends with ' "$dir/out")" = 9 ] && [ -s walk/trend.svg ] && [ -s walk/compare.svg ] &&
    grep -q '^SLOWER' "$dir/out"
result $? "the walk ends as it says"
sed 's/ RANKS=\$option/ RANKS=2/' walker >lame && chmod +x lame
! PARPROF=./lame sh "$srcdir/examples/ci/walk.sh" walk >"$dir/out" 2>"$dir/err" && grep -q 'walk: it should end with 3' "$dir/err"
result $? "and fails where a command ends otherwise"

PARPROF=$real BACKEND=cpu RUNS=2 JOB='--mode ddp --model mini --layers 1 --d-model 16 --heads 2 --ff 32 --vocab 50 --seq-len 8 --ranks 2 --steps 6 --link none' \
    OUT=real CACHE=real-cache sh "$script" >"$dir/out" 2>"$dir/err" &&
    [ -s real/timeline.svg ] && [ -s real-cache/history.jsonl ] && [ -s real-cache/base/2.trace.json ]
result $? "on CPUs, of real runs"

yaml() { # yaml FILE: prints the shell of its steps; fails where it is no YAML or has none
    python3 - "$1" <<'PYTHON'
import sys, yaml
doc = yaml.safe_load(open(sys.argv[1]))
steps = [s.get("run") for j in doc.get("jobs", {}).values() for s in j["steps"]] or doc["gpu-timing"]["script"]
steps = [s for s in steps if s]
assert steps
print("\n".join(steps))
for job in doc.get("jobs", {}).values():
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step), step
        assert "uses" not in step or step["uses"].split("@")[1].startswith("v"), step
PYTHON
}
for file in "$github" "$gitlab"; do
    name="$(basename "$file") is YAML, and its steps are shell that times"
    if ! python3 -c 'import yaml' 2>/dev/null; then
        skip "$name" "needs Python with PyYAML"
        continue
    fi
    yaml "$file" >"$dir/out" 2>"$dir/err" && sh -n "$dir/out" && grep -q '^sh examples/ci/timing.sh$' "$dir/out"
    result $? "$name"
done
# Settings that the files give are settings of the script.
lost=
for name in $(sed -n 's/^ *\([A-Z][A-Z_]*\): .*/\1/p' "$github" "$gitlab" | sort -u); do
    grep -q "^$name=" "$script" || lost="$lost $name"
done
[ -z "$lost" ]
result $? "what the files set, the script knows"
done_testing
