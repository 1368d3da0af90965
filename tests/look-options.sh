#!/bin/sh
# Every option of the look in every kind of figure: it changes the figure as is meant, or it is refused by its name.
# Sanitized, in every third kind.
. "${srcdir:-.}/tests/tap.sh"
unit="--mode pipeline --backend sim --layers 8 --ranks 4 --chunks 8 --schedule 1f1b"
{
    "$PARPROF" $unit --cost unit:F=1,B=1,W=1,C=0.1 --figure none --trace pipe.json -q &&
        "$PARPROF" $unit --cost unit:F=1,B=1.2,W=1,C=0.1 --figure none --trace slow.json -q &&
        "$PARPROF" --mode ddp --backend sim --model bert-base --layers 4 --ranks 2 --cluster rtx-pcie-x2 --figure none --trace ddp.json -q &&
        "$PARPROF" --mode ddp --backend sim --model mini --ranks 3 --cluster a100x4 --allreduce ring --figure none --trace ring.json -q &&
        "$PARPROF" --mode dp --backend sim --model bert-base --ranks 4 --cluster a100x4 --figure none --trace dp.json --report dp-report.json -q &&
        "$PARPROF" sweep --backend sim --model bert-base --ranks 4 --cluster a100x4 --bucket-mb 5,25,100 --overlap none,backward --figure none \
            --report sweep.json -q &&
        # One bucket waits for rank 1.
        "$PARPROF" --mode ddp --backend sim --model bert-base --layers 4 --ranks 2 --cluster rtx-pcie-x2 --figure none --report causes.json -q &&
        sed 's/"queue": [1-9][0-9]*/"queue": 0/; s/"late_peer": 0, "late_launch": 0, "queue": 0, "end_of_backward": [1-9][0-9]*, "bandwidth": 0}/"late_peer": 7000000, "late_launch": 0, "queue": 0, "end_of_backward": 0, "bandwidth": 0}, "late_rank": 1/' causes.json >overlap.json &&
        grep -q late_rank overlap.json
} >"$dir/out" 2>"$dir/err"
result $? "figures to draw"

unchanged=
kinds=$("$PARPROF" list | awk '/^[a-z]/ { on = $0 == "figures" } on && /^  / { print $1 }')
[ -z "${SANITIZED:-}" ] || kinds=$(echo "$kinds" | awk 'NR % 3 == 1')
input() { # of a kind
    case $1 in
    timeline | grid) echo pipe.json ;;
    compare) echo pipe.json slow.json ;;
    breakdown | memory) echo dp-report.json ;;
    sweep) echo sweep.json ;;
    overlap) echo overlap.json ;;
    buckets | ddp) echo ddp.json ;;
    allreduce) echo ring.json ;;
    dp) echo dp.json ;;
    trend) echo "${srcdir:-.}/doc/gallery/example.jsonl" ;;
    *) echo "$1: no input in this table" ;;
    esac
}
note() { # something that the kind names
    case $1 in
    timeline | grid | compare) echo F1 ;;
    breakdown) echo forward ;;
    memory) echo weight ;;
    sweep) echo 'bucket-mb 25, overlap none' ;;
    overlap | buckets) echo 'bucket 1' ;;
    allreduce) echo 'step 2' ;;
    dp) echo '1 scatter' ;;
    ddp) echo all-reduce ;;
    trend) echo 7ca5bfe ;;
    esac
}
draw() { # draw KIND OPTIONS...: into x.svg
    kind=$1
    shift
    rm -f x.svg
    # shellcheck disable=SC2046
    case $kind in
    trend) run history $(input trend) --figure trend -o x.svg "$@" ;;
    *) run render $(input "$kind") --figure "$kind" -o x.svg "$@" ;;
    esac
}
# Of a file: what its first area is filled with, the sizes of its letters, whether rank 0 stands above rank 1.
ground() { grep -o '<rect x="0" y="0" width="1280" height="720" style="fill:rgb([^)]*)' "$1"; }
sizes() { grep -o 'font-size="[0-9.]*"' "$1" | sort -u; }
ranks_down() { sed 's/<text/\n&/g' "$1" | awk '/>rank 0</ { a = y($0) } />rank 1</ { b = y($0) } END { print a < b ? "yes" : "no" }
    function y(s) { sub(/.* y="/, "", s); return s + 0 }'; }
texts() { sed 's/<text/\n&/g' "$1" | grep -c '<text'; }

for kind in $kinds; do
    draw "$kind"
    [ "$status" = 0 ] && mv x.svg "plain-$kind.svg"
    result $? "figure $kind"
done

# honoured KINDS CHECK OPTION...: by these kinds as CHECK finds in x.svg, where $kind is the kind; refused by all others.
honoured() {
    of=$1 check=$2 wrong=
    shift 2
    for kind in $kinds; do
        case " $of " in
        *" $kind "* | " all ")
            draw "$kind" "$@"
            case " $unchanged " in *" $kind "*)
                { [ "$status" = 0 ] && cmp -s x.svg "plain-$kind.svg"; } || wrong="$wrong $kind"
                continue
                ;;
            esac
            { [ "$status" = 0 ] && ! cmp -s x.svg "plain-$kind.svg" && eval "$check"; } || wrong="$wrong $kind"
            ;;
        *)
            draw "$kind" "$@"
            { [ "$status" = 2 ] && [ ! -e x.svg ] && refused "$1"; } || wrong="$wrong $kind"
            ;;
        esac
    done
    [ -z "$wrong" ]
    result $? "$1${wrong:+, but$wrong}"
}
refused() { grep -q -- "$1 is of --figure .*, not of $kind, which\|$1 is an option of '.*, not of 'history'" "$dir/err"; }
has() { grep -q -- "$1" x.svg; }
had() { grep -q -- "$1" "plain-$kind.svg"; }

honoured all 'has "width=\"960\"" && has "height=\"720\""' --size 4:3
honoured all 'has "font-family=\"DejaVu Serif,"' --font 'DejaVu Serif'
honoured all '[ "$(sizes x.svg)" != "$(sizes "plain-$kind.svg")" ]' --font-scale 1.3
honoured all 'has ">A title of its own<"' --title 'A title of its own'
honoured all '[ "$(texts x.svg)" -lt "$(texts "plain-$kind.svg")" ]' --no-caption
honoured all '[ -n "$(ground "plain-$kind.svg")" ] && [ -z "$(ground x.svg)" ]' --transparent
honoured all '[ -n "$(ground x.svg)" ] && [ "$(ground x.svg)" != "$(ground "plain-$kind.svg")" ] && has "#f4f4f4"' --theme dark
honoured all 'has "랭크\|스텝" && ! had "랭크\|스텝"' --lang ko
# Where there is none, there is none to leave out: curves have their names at their ends.
unchanged="buckets sweep"
honoured all '[ "$(texts x.svg)" -lt "$(texts "plain-$kind.svg")" ]' --no-legend
unchanged=
honoured 'timeline grid memory compare overlap allreduce dp ddp' 'has "GPU 1" && ! had "GPU 1"' --rank-name GPU
honoured 'timeline grid memory compare overlap buckets allreduce dp ddp' '! has "\(rank\|bucket\) 0" && had "\(rank\|bucket\) 0"' --count-from 1
honoured 'timeline grid memory compare' '[ "$(ranks_down x.svg)" = no ] && [ "$(ranks_down "plain-$kind.svg")" = yes ]' --rank-order up
honoured 'timeline grid compare' 'has ">micro-batch 1<" && ! had ">micro-batch 1<"' --color-by micro
honoured grid 'true' --align late
honoured timeline 'has ">critical path<"' --critical-path
honoured timeline 'true' --step 1 --from 5ms
honoured timeline 'true' --to 20ms
honoured buckets 'has "bucket 0"' --bucket-order layer
wrong=
for kind in $kinds; do
    draw "$kind" --note "here@$(note "$kind")"
    [ "$status" = 0 ] && has '>here<' || wrong="$wrong $kind"
    draw "$kind" --note here@nothing-of-that-name
    [ "$status" = 2 ] && [ ! -e x.svg ] || wrong="$wrong $kind"
done
[ -z "$wrong" ]
result $? "--note${wrong:+, but$wrong}"
done_testing
