#!/bin/sh
# The gallery shows every kind of figure, and the lecture's script draws what it names.
. "${srcdir:-.}/tests/tap.sh"
export PARPROF
gallery() { # gallery TABLE FOLDER
    LANGS="en ko" THEMES=print sh "$srcdir/doc/gallery/draw" "$1" "$2" >"$dir/out" 2>"$dir/err"
    status=$?
}
table=$srcdir/doc/gallery/kinds.txt
kinds=$("$PARPROF" list | sed -n '/^figures/,/^[a-eg-z]/s/^  \([a-z]*\) .*/\1/p')

gallery "$table" all
[ "$status" = 0 ] && [ -s all/README.md ] && [ ! -e all/README.md.part ]
result $? "make gallery"
missing=
for kind in $kinds; do
    grep -qx "## $kind" all/README.md && [ -s "all/$kind-print-en.svg" ] && grep -q "]($kind-print-ko.svg)" all/README.md || missing="$missing $kind"
done
[ -n "$kinds" ] && [ -z "$missing" ]
result $? "it shows every kind of figure"
grep -oE '\]\([^)]*\)' all/README.md | sed 's/](\(.*\))/\1/' | sort -u >"$dir/shown"
(cd all && ls -- *.svg) >"$dir/drawn"
cmp "$dir/shown" "$dir/drawn" >"$dir/out"
result $? "what the page shows is what was drawn"
! grep -l '…' all/*.svg >"$dir/out"
result $? "nothing in it is cut short"
cp "${table%/*}/example.jsonl" .
grep -v '^memory' "$table" >less.txt
gallery less.txt less
[ "$status" != 0 ] && grep -q "no row for 'memory'" "$dir/err" && [ ! -e less/README.md ]
result $? "a kind without a row is an error"
first=$(echo "$kinds" | head -1)
sed "s/^$first .*/$first --mode dp --ranks none/" "$table" >wrong.txt
gallery wrong.txt wrong
[ "$status" != 0 ] && grep -q -- '--ranks' "$dir/err" && [ ! -e wrong/README.md ]
result $? "a row that parprof refuses is an error"

if [ -n "$SANITIZED" ]; then # what they need of the program is above, and in the tests of each option
    skip "the figures of the lectures" "drawn in builds that are not sanitized"
    done_testing
    exit
fi
FORMAT=txt sh "$srcdir/examples/lecture/draw" lecture >"$dir/out" 2>"$dir/err"
[ $? = 0 ] && [ -s lecture/en/pipe-04-1f1b.txt ] && grep -q '순전파' lecture/ko/pipe-04-1f1b.txt && grep -q 'GPU 3' lecture/ko/pipe-04-1f1b.txt &&
    ! grep -v '^left out' "$dir/err"
result $? "the figures of the lectures"
[ "$(ls lecture/en)" = "$(ls lecture/ko)" ]
result $? "all of them in both languages"
named=$(sed -n 's/^ *\(draw\|dp\|ddp\|pipe\|steps\) \([a-z]*-[0-9][0-9]-[a-z0-9-]*\).*/\2/p' "$srcdir/examples/lecture/draw" | sort -u)
lost=
for name in $named; do
    [ -n "$(ls lecture/en/"$name"*.txt 2>/dev/null)" ] || grep -q "left out: $name," "$dir/err" || lost="$lost $name"
done
[ "$(echo "$named" | wc -l)" -gt 30 ] && [ -z "$lost" ]
result $? "each is there, or named as left out"
done_testing
