#!/bin/sh
# The look of figures from the command line: themes, languages, fonts, sizes, formats, notes; and that no figure has a colour
# or a text of its own.
. "${srcdir:-.}/tests/tap.sh"
unit="--mode pipeline --backend sim --layers 8 --ranks 4 --chunks 8 --cost unit:F=1,B=1,W=1,C=0 --schedule 1f1b"

# shellcheck disable=SC2086
run $unit --figure none --trace t.json -q
result $? "a trace to draw"

# ---- sources
bad_colors=$(cd "$srcdir" && grep -nE '0x[0-9a-fA-F]{6}\b' viz/*.c | grep -v '^viz/palette.c:')
[ -z "$bad_colors" ]
result $? "no figure names a colour"
# Keys in full, as word(l, "a.b") and say(l, "a.b", ...) have them; those that are put together are listed here.
(cd "$srcdir" && cat viz/*.c cli/*.c) | tr -d '\n' | grep -oE '"[a-z-]+\.[a-z0-9-]+"' | tr -d '"' | sort -u >"$dir/used"
awk '/^\[/ { group = substr($0, 2, length($0) - 2) } /^[a-z]/ { print group "." $1 }' "$srcdir/viz/lang/en.ini" | sort >"$dir/known"
grep -vE '^(op|algo|overlap|label|value|known|memory|mode|models|option|language)\.|^figure\.name-|^timeline\.(saves|costs|shorter|longer)|^phase\.comm' "$dir/known" >"$dir/must"
comm -23 "$dir/must" "$dir/used" >"$dir/out"
[ ! -s "$dir/out" ]
result $? "every text of a language is said by some figure"

# ---- themes and languages
for theme in light dark print; do
    run render t.json --figure grid --theme $theme -o $theme.svg
    [ "$status" = 0 ] && [ -s $theme.svg ]
    result $? "--theme $theme"
done
! cmp -s light.svg dark.svg && ! cmp -s light.svg print.svg && grep -q '#f4f4f4' dark.svg && ! grep -q '#0072b2' print.svg
result $? "themes differ"
run render t.json --figure grid --lang ko -o ko.svg
[ "$status" = 0 ] && grep -q '순전파' ko.svg && grep -q '버블' ko.svg && grep -q '>F0<' ko.svg && ! grep -q 'forward' ko.svg
result $? "--lang ko speaks Korean, and keeps F in cells"
# What comes from the rest of the program: labels, notes of presets, why a point failed.
says_korean() { # says_korean WHAT ENGLISH OPTION...
    what=$1 english=$2
    shift 2
    run "$@" --lang ko -q -o known.svg
    [ "$status" = 0 ] && ! grep -q "$english" known.svg
    result $? "--lang ko: $what"
}
says_korean "notes of published steps" 'efficiency\|published\|digitised\|source\| and ' --preset ddp-paper --figure breakdown
says_korean "the label of --gil" 'launches' --mode dp --gil --backend sim --figure timeline
says_korean "what is extended" 'extended' --backend sim --ranks 8 --figure timeline
says_korean "why a point failed" 'the schedule' sweep --mode pipeline --ranks 2,4,40 --chunks 8 --backend sim --figure sweep
LC_ALL=ko_KR.UTF-8 LANG=ko_KR.UTF-8 run render t.json --figure grid -o locale.svg
cmp -s locale.svg light.svg
result $? "the locale says nothing"
sed 's/^forward = F forward/forward = F avanti/' "$srcdir/viz/lang/en.ini" >it.ini
run render t.json --figure grid --lang ./it.ini -o it.svg
[ "$status" = 0 ] && grep -q 'F avanti' it.svg
result $? "a language is a file"
grep -v '^units' "$srcdir/viz/lang/en.ini" >less.ini
run render t.json --figure grid --lang ./less.ini -o less.svg
[ "$status" = 2 ] && grep -q -- "--lang: ./less.ini:[0-9]*: \[grid\] lacks 'units'" "$dir/err" && [ ! -e less.svg ]
result $? "a language that lacks a text is refused with its line"
run render t.json --figure grid --lang fr
[ "$status" = 2 ] && grep -q 'en, ko' "$dir/err"
result $? "a language that is not there is refused"

# ---- fonts
if command -v fc-list >/dev/null && [ -n "$(fc-list :lang=ko family)" ]; then
    run render t.json --figure grid --lang ko -o font.svg
    [ ! -s "$dir/err" ]
    result $? "with a Korean font there is no warning"
    if command -v pdftotext >/dev/null; then
        run render t.json --figure grid --lang ko -o font.pdf
        pdftotext font.pdf - | grep -q '순전파'
        result $? "Korean can be selected in a pdf"
    else
        skip "Korean can be selected in a pdf" "no pdftotext here (poppler-utils)"
    fi
else
    skip "with a Korean font there is no warning" "no font with Hangul is installed (fonts-nanum, fonts-noto-cjk)"
fi
latin=$(command -v fc-list >/dev/null && fc-list 'DejaVu Sans' file | sed -n 's/:.*//p' | head -1)
if [ -n "$latin" ]; then
    printf '<?xml version="1.0"?><fontconfig><dir>%s</dir><cachedir>%s</cachedir></fontconfig>\n' "$(dirname "$latin")" "$dir/cache" >fonts.conf
    FONTCONFIG_FILE=$PWD/fonts.conf run render t.json --figure grid --lang ko -o boxes.svg
    [ "$status" = 0 ] && [ -s boxes.svg ] && grep -q 'warning: no installed font has' "$dir/err" && grep -q 'fonts-nanum' "$dir/err"
    result $? "where no font has Hangul, that is said, and the figure is there"
else
    skip "where no font has Hangul, that is said, and the figure is there" "no DejaVu Sans here"
fi
run render t.json --figure grid --font 'No Such Font' -o none.svg
[ "$status" = 0 ] && grep -q "no font called 'No Such Font'" "$dir/err" && grep -q 'font-family="No Such Font,' none.svg
result $? "a font that is not installed is named"

# ---- sizes
for size in 1280x720:1280:720 16:9:1280:720 4:3:960:720 160x90mm:604:340; do
    want_h=${size##*:} rest=${size%:*}
    want_w=${rest##*:} name=${rest%:*}
    run render t.json --figure grid --size "$name" -o size.svg
    [ "$status" = 0 ] && grep -q "width=\"$want_w[.0-9]*px\" height=\"$want_h[.0-9]*px\"" size.svg
    result $? "--size $name"
done
for wrong in "--size 20x20" "--size 16/9" "--size 160x90cm" "--font-scale 9" "--theme sepia" "--color-by bucket" "--step 1" "--note x" \
    "--note x@F99" "--ascii" "--format gif" "--bucket-order layer"; do
    # shellcheck disable=SC2086
    run render t.json --figure grid $wrong -o wrong.svg
    [ "$status" = 2 ] && [ ! -e wrong.svg ] && [ "$(wc -l <"$dir/err")" = 1 ]
    result $? "$wrong is refused"
done
run render t.json --figure grid --font-scale 1.5 -o large.svg
grep -q 'font-size="36"' large.svg
result $? "--font-scale makes texts larger"

# ---- what is said
run render t.json --figure grid --title 'My own & only' --no-legend --no-caption --rank-name GPU --transparent -o own.svg
[ "$status" = 0 ] && grep -q '>My own &amp; only<' own.svg && grep -q '>GPU 3<' own.svg && ! grep -q 'simulated' own.svg &&
    ! grep -q 'F forward' own.svg && ! grep -q '<rect' own.svg
result $? "title, rank name, no legend, no caption, no background"
run render t.json --figure grid --title= --no-caption -o bare.svg
[ "$status" = 0 ] && ! grep -q 'font-size="28"' bare.svg
result $? "an empty title is none"
run render t.json --figure grid --note 'look here@F0 rank 2' -o note.svg
[ "$status" = 0 ] && grep -q '>look here<' note.svg
result $? "a note"
run render t.json --from 5ms --to 0.008s --critical-path --rank-order up --count-from 1 --color-by micro -o zoom.svg
[ "$status" = 0 ] && grep -q 'critical path' zoom.svg && grep -q 'micro-batch 1' zoom.svg && ! grep -q '>step ' zoom.svg
result $? "a timeline zoomed in"
run render t.json --from 5ms --to 3ms
[ "$status" = 2 ] && grep -q 'the step lasts 33.0 ms' "$dir/err"
result $? "nothing between two times is refused"
ok=0
for time in "--from 5" "--to 5" "--from 0x5ms" "--to nans" "--from -1ms" "--to 0ms"; do
    # shellcheck disable=SC2086
    run render t.json $time
    [ "$status" = 2 ] && grep -q -- "--\(from\|to\) takes a time .*: 12.5ms, 800us" "$dir/err" || { echo "# $time"; ok=1; }
done
result $ok "a time has its unit"

# ---- SVG and text
[ "$(grep -c '<g id="rank-[0-3]">' light.svg)" = 4 ] && [ "$(grep -c '<title>[FB] · ' light.svg)" = 8 ] &&
    [ "$(grep '<title>[FB] · ' light.svg | grep -oE 'h-[0-9]+(zm|">)' | wc -l)" = 64 ] && ! grep -q '<style' light.svg
result $? "a group a rank, a title over every span, no style sheet"
if command -v xmllint >/dev/null; then
    xmllint --noout light.svg dark.svg print.svg ko.svg own.svg note.svg zoom.svg
    result $? "well-formed"
else
    skip "well-formed" "no xmllint here (libxml2-utils)"
fi
run render t.json --figure grid -o -
[ "$status" = 0 ] && grep -q 'rank 3 .*B7' "$dir/out" && [ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' "$dir/out")" -le 300 ]
result $? "text on standard output"
run render t.json -o - --size 40x8
[ "$status" = 2 ] && grep -q 'a canvas of 40 columns x 8 lines is too small to read; use 40 columns x 12 lines to 4000 columns x 2000 lines' "$dir/err" &&
    run render t.json -o - --size 40x12 && grep -q '40 columns x 12 lines leave no room for a lane' "$dir/err"
result $? "the size of a text is said in columns and lines"
run render t.json --figure grid -o - --ascii --size 80x30
[ "$status" = 0 ] && ! grep -qF -e '█' -e '▓' -e '▒' -e '░' -e '─' "$dir/out" && [ "$(sed 's/[·…]/./g' "$dir/out" | awk 'length($0) > 80' | wc -l)" = 0 ]
result $? "text in 80 columns of ASCII shapes"
run render t.json --figure grid --format svg -o -
cmp -s "$dir/out" light.svg
result $? "--format says the format of standard output"
# ---- frames
run render t.json --figure grid --build rank -o step.svg
[ "$status" = 0 ] && [ "$(ls step*)" = "$(printf 'step-0%d.svg\n' 1 2 3 4)" ] && cmp -s step-04.svg light.svg && ! cmp -s step-03.svg light.svg &&
    grep -q 'wrote step-01.svg to step-04.svg$' "$dir/out"
result $? "a figure built up by ranks, of which the last file is the figure"
run --mode ddp --backend sim --model mini --ranks 3 --cluster a100x4 --allreduce ring --figure allreduce --build frames -q -o hop.svg
[ "$status" = 0 ] && [ -s hop-05.svg ] && [ ! -e hop-06.svg ] && grep -q '>Σ<' hop-05.svg && ! grep -q '>Σ<' hop-02.svg
result $? "frames alone are one for each step of the figure"
run render t.json --build frames:120 -o much.txt
[ "$status" = 0 ] && [ "$(ls much-* | wc -l)" = 120 ] && [ -s much-001.txt ] && [ -s much-120.txt ]
result $? "files of three digits"
for wrong in "--build row" "--build frames:1" "--build frames:4x" "--build bucket" "--gif"; do
    # shellcheck disable=SC2086
    run render t.json --figure grid $wrong -o wrong.svg
    [ "$status" = 2 ] && [ -z "$(ls wrong* 2>/dev/null)" ] && [ "$(wc -l <"$dir/err")" = 1 ]
    result $? "$wrong is refused"
done
run render t.json --figure grid --build rank -o -
[ "$status" = 2 ] && grep -q 'FILE.svg' "$dir/err"
result $? "frames on standard output are refused"
mkdir empty
PATH=$PWD/empty run render t.json --figure grid --build rank --gif -o wrong.svg
[ "$status" = 2 ] && grep -q 'Debian: imagemagick' "$dir/err" && [ -z "$(ls wrong* 2>/dev/null)" ]
result $? "--gif without ImageMagick says what to install"
printf '#!/bin/sh\necho "out of colours" >&2\nexit 1\n' >empty/magick
chmod +x empty/magick
mkdir temporary
TMPDIR=$PWD/temporary PATH=$PWD/empty:$PATH run render t.json --figure grid --build rank --gif -o failed.svg
[ "$status" != 0 ] && grep -q 'out of colours' "$dir/err" && [ ! -e failed.gif ] && rmdir temporary
result $? "what ImageMagick says is said, and nothing is left behind"
if convert -version 2>/dev/null | grep -q ImageMagick; then
    run render t.json --figure grid --build rank --gif --size 320x180 -o small.svg
    [ "$status" = 0 ] && [ "$(identify small.gif | wc -l)" = 4 ] && grep -q 'small-04.svg, small.gif$' "$dir/out"
    result $? "a GIF of the frames"
else
    skip "a GIF of the frames" "no ImageMagick here (imagemagick)"
fi
done_testing
