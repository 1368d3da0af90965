#!/bin/sh
# A walk through regression timing, on CPUs that rest, in a few minutes:  [PARPROF=./parprof] sh examples/ci/walk.sh [FOLDER]
# Each command is shown with how it should end; the walk ends with 1 where one ends otherwise.
parprof=${PARPROF:-parprof}
case $parprof in */*) parprof=$(cd "$(dirname "$parprof")" && pwd)/$(basename "$parprof") ;; esac
folder=${1:-parprof-walk}
# A step of a few ms; 6 processes a side, so that each is one number and steps need not be independent.
job=${JOB:---mode ddp --backend cpu --ranks 2 --model mini --layers 2 --steps 10 --link none}
runs=${RUNS:-6}
mkdir -p "$folder" && cd "$folder" || exit 2
wrong=0

# ends STATUS COMMAND...: shows and runs it.  "0 1": either.
ends() {
    wanted=$1
    shift
    printf '\n$ parprof %s\n' "$*"
    "$parprof" "$@"
    status=$?
    echo "(ends with $status)"
    case " $wanted " in *" $status "*) return ;; esac
    wrong=1
    echo "walk: it should end with $wanted" >&2
    [ "$status" != 3 ] || echo "walk: where it says INCOMPARABLE because of noise this machine is busy: walk again when it rests" >&2
}

# measure NAME [OPTION...]: reports with their traces, a folder of them.
measure() {
    name=$1
    shift
    rm -rf "$name" && mkdir "$name"
    printf '\n$ parprof %s%s   (%s times, into %s/)\n' "$job" "${*:+ $*}" "$runs" "$name"
    i=1
    while [ "$i" -le "$runs" ]; do
        # shellcheck disable=SC2086
        "$parprof" run $job "$@" -q --figure none --report "$name/$i.json" --trace "$name/$i.trace.json" || exit 2
        i=$((i + 1))
    done
}

echo "== The first run begins the history."
rm -f history.jsonl
measure seed
ends 0 compare history.jsonl seed --on-missing seed

echo
echo "== The same code is not slower."
measure same
ends 0 compare history.jsonl same --record --junit junit.xml --markdown summary.md

echo
echo "== With 30 % more computation it is.  The gate runs both by turns, so that a machine that wanders slows both alike."
run="$parprof run $job -q --figure none --report gated.json"
ends 1 gate --base "$run" --new "$run --inject-delay 30" --samples trace:gated.json --budget 5m --history history.jsonl

echo
echo "== Traces say where.  Runs one side after the other, on a machine that wandered meanwhile, may be AMBIGUOUS, which ends with 0."
measure slow --inject-delay 30
ends "0 1" compare same slow

echo
echo "== On other ranks it is other work."
measure other --ranks 3
ends 3 compare same other

echo
echo "== Any command that prints its steps' times can be gated: base and new in turns."
cat >step.sh <<'STEP'
i=0
while [ $i -lt 8 ]; do
    before=$(date +%s%N)
    sleep "$1"
    after=$(date +%s%N)
    echo "step $i: $(((after - before) / 1000)) us"
    i=$((i + 1))
done
STEP
ends 1 gate --base 'sh step.sh 0.02' --new 'sh step.sh 0.03' --samples 'regex:step [0-9]+: ([0-9]+) us' --unit us --budget 60s

echo
echo "== The history, and its trend."
ends 0 history history.jsonl
ends 0 history history.jsonl --figure trend -o trend.svg
ends 0 render same/1.trace.json slow/1.trace.json --figure compare -o compare.svg
exit $wrong
