#!/bin/sh
# Help, manual page and completion say the same as the table of options, and what is installed is what the program says.
. "${srcdir:-.}/tests/tap.sh"

run --help
sed -n 's/^OPTION([A-Z_]*, "\([a-z-]*\)".*/\1/p' "$srcdir/cli/options.def" | sort >"$dir/table"
sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' "$dir/out" | sort >"$dir/help"
printf 'help\nversion\n' | sort -m - "$dir/table" | cmp -s - "$dir/help"
result $? "help has every option of the table and no other"
[ "$(awk 'length > 120' "$dir/out" | wc -l)" = 0 ]
result $? "no line of help is longer than 120 columns"

run sweep --help
grep -q -- --bucket-mb "$dir/out" && ! grep -q -- --trace "$dir/out"
result $? "help of a command has its options only"

run help man
cmp -s "$dir/out" "$srcdir/doc/parprof.1"
result $? "doc/parprof.1 is what the program says ('make doc' writes it)"
sed -n 's/^\\fB\(\\-.,[ ]*\)\{0,1\}\\-\\-\([a-z\\-]*\)\\fR.*/\2/p' "$dir/out" | tr -d '\\' | sort >"$dir/man"
cmp -s "$dir/table" "$dir/man"
result $? "the manual page has every option of the table"
if command -v man >/dev/null; then
    MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l "$dir/out" >"$dir/page" 2>"$dir/err"
    [ ! -s "$dir/err" ] && grep -q 'bucket-mb=X' "$dir/page"
    result $? "the manual page formats without a warning"
else
    skip "the manual page formats without a warning" "no man here"
fi

run help bash
cmp -s "$dir/out" "$srcdir/doc/completion/parprof"
result $? "doc/completion/parprof is what the program says ('make doc' writes it)"
if command -v bash >/dev/null; then
    complete() { # complete EXPECTED WORD...: what bash would offer for the last word
        want=$1
        shift
        got=$(PATH="$(dirname "$PARPROF"):$PATH" bash --norc -c '. "$1"; shift
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _parprof; printf "%s\n" "${COMPREPLY[@]}"' - "$dir/out" "$@" | sort | tr '\n' ' ')
        [ "$got" = "$want" ]
        result $? "completion of '$*'"
    }
    complete "render run " parprof r
    complete "--backend --batch --bucket-mb --bucket-order --build " parprof --b
    complete "bert-base " parprof --model bert
    complete "bert-base " parprof sweep --model = bert
    complete "h200x8 " parprof run --cluster h200
    complete "--report " parprof sweep --rep
else
    skip "completion" "no bash here"
fi

run help fly
[ "$status" = 2 ] && grep -q "not 'fly'" "$dir/err"
result $? "help of what there is not"
done_testing
