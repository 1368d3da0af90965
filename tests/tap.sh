# tests/tap.sh -- sourced by shell tests: counts, reports, works in an empty folder of its own.
# Needs PARPROF, the program under test.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/work"
cd "$dir/work" || exit 99
n=0 bad=0

result() { # result STATUS NAME
    n=$((n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $n - $2"
    else
        bad=$((bad + 1))
        echo "not ok $n - $2"
        sed 's/^/# /' "$dir/out" "$dir/err" 2>/dev/null
    fi
}

skip() { # skip NAME REASON
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# Runs parprof; its status, output and messages are kept.
run() {
    "$PARPROF" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}

done_testing() {
    echo "1..$n"
    [ "$bad" = 0 ]
}
