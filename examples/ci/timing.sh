#!/bin/sh
# Times a job on this runner and compares it with the history: the steps of .github/workflows/gpu-timing.yml and of
# examples/ci/gitlab-ci.yml, which can be tried anywhere:  BACKEND=cpu JOB='--mode ddp --steps 10' sh examples/ci/timing.sh
#
# The first run begins the history; later ones are compared with its last runs of the same work, and are appended if
# RECORD=yes.  Ends with 0: not slower, or skipped; 1: slower; 2: something is wrong; 3: it cannot be compared, and
# INCONCLUSIVE=fail.  Settings, each an environment variable:
PARPROF=${PARPROF:-parprof}             # the program
BACKEND=${BACKEND:-cuda}                # where it is not available the timing is skipped, with the reason
JOB=${JOB:---mode ddp --steps 20}       # what is timed
RUNS=${RUNS:-6}                         # processes: of six or more each is one number, and steps need not be independent
LAST=${LAST:-10}                        # runs of the history that it is compared with
CACHE=${CACHE:-gpu-timing-cache}        # what is kept from run to run: the history, and reports and traces of the last good run
OUT=${OUT:-gpu-timing}                  # artifacts
RECORD=${RECORD:-yes}
INCONCLUSIVE=${INCONCLUSIVE:-pass}
SUMMARY=${GITHUB_STEP_SUMMARY:-$OUT/summary.md}
set -u
history=$CACHE/history.jsonl

note() { # note LEVEL TEXT: where people look
    echo "gpu-timing: $2"
    [ "${GITHUB_ACTIONS:-}" != true ] || echo "::$1 title=gpu-timing::$2"
}

# skip REASON: nothing was timed, and everybody is told so.
skip() {
    note notice "skipped: $1"
    printf '### gpu-timing: skipped\n\n    %s\n' "$1" >>"$SUMMARY"
    reason=$(printf '%s' "$1" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g')
    cat >"$OUT/junit.xml" <<XML
<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="parprof compare" tests="1" failures="0" errors="0" skipped="1">
<testcase classname="parprof.compare" name="step"><skipped message="$reason"/></testcase>
</testsuite></testsuites>
XML
    exit 0
}

measure() {
    i=1
    while [ "$i" -le "$RUNS" ]; do
        # shellcheck disable=SC2086
        "$PARPROF" run $JOB --backend "$BACKEND" --figure none -q --report "$OUT/runs/$i.json" --trace "$OUT/runs/$i.trace.json" 2>"$OUT/messages.txt"
        status=$?
        cat "$OUT/messages.txt" >&2
        [ "$status" != 4 ] || skip "$(tr '\n' ' ' <"$OUT/messages.txt")"
        [ "$status" = 0 ] || { note error "run $i ended with $status"; exit 2; }
        i=$((i + 1))
    done
}

# How this run looks, and beside it the last good one.
draw() {
    new=$OUT/runs/$RUNS.trace.json old=$(ls "$CACHE"/base/*.trace.json 2>/dev/null | tail -n 1)
    "$PARPROF" render "$new" --figure timeline -o "$OUT/timeline.svg"
    if [ -n "$old" ]; then
        cp "$old" "$OUT/base.trace.json"
        "$PARPROF" render "$OUT/base.trace.json" "$new" --figure compare -o "$OUT/compare.svg" || rm -f "$OUT/compare.svg"
    fi
    [ ! -s "$history" ] || "$PARPROF" history "$history" --figure trend -o "$OUT/trend.svg"
}

# The history has samples only; the traces of the last good run say in which operations a difference is.
explain() {
    [ -d "$CACHE/base" ] || return 0
    "$PARPROF" compare "$CACHE/base" "$OUT/runs" >"$OUT/where.txt" 2>/dev/null
    grep '^NEW is' "$OUT/where.txt" || return 0
    printf '    ' >>"$SUMMARY"
    grep '^NEW is' "$OUT/where.txt" >>"$SUMMARY"
}

keep() {
    rm -rf "$CACHE/base"
    mkdir "$CACHE/base" && cp "$OUT/runs/"*.json "$CACHE/base/"
}

mkdir -p "$CACHE" && rm -rf "$OUT/runs" && mkdir -p "$OUT/runs" || exit 2
measure
recorded=
[ "$RECORD" != yes ] || recorded=--record
# shellcheck disable=SC2086
"$PARPROF" compare "$history" "$OUT/runs" --last "$LAST" --on-missing seed --inconclusive "$INCONCLUSIVE" $recorded \
    --json "$OUT/compare.json" --junit "$OUT/junit.xml" --markdown "$SUMMARY"
status=$?
case $status in
0) [ "$RECORD" != yes ] || keep ;;
1) explain ;;
3)
    note warning "this run cannot be compared: see the table above"
    [ "$INCONCLUSIVE" = fail ] || status=0
    ;;
*) exit 2 ;;
esac
draw || note warning "not every figure could be drawn"
exit $status
