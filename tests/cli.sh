#!/bin/sh
# The command line: bad usage is one clear message, a status and nothing written; good usage writes what it says.
. "${srcdir:-.}/tests/tap.sh"

# refuses STATUS PATTERN ARGUMENT...: that status, one line on stderr that has the pattern, no file left, nothing on stdout
refuses() {
    want=$1 pattern=$2
    shift 2
    case $SANITIZED in *thread*) return ;; esac # before ranks have threads
    run "$@"
    ok=0
    [ "$status" = "$want" ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q -- "$pattern" "$dir/err" && [ ! -s "$dir/out" ] &&
        [ -z "$(ls -A)" ] || ok=1
    result $ok "refuses '$*'"
    rm -rf ./* 2>/dev/null
}

run --version
[ "$status" = 0 ] && grep -qx 'parprof [0-9.]*' "$dir/out"
result $? "--version"
run --help
[ "$status" = 0 ] && grep -q -- --bucket-mb "$dir/out"
result $? "--help"
run
[ "$status" = 0 ] && grep -q -- --bucket-mb "$dir/out"
result $? "nothing given: help"
run list
[ "$status" = 0 ] && grep -q 'bert-base' "$dir/out" && grep -q 'a100x4' "$dir/out" && grep -q 'ddp' "$dir/out"
result $? "list"

run --preset ddp-paper
[ "$status" = 0 ] && grep -q 'ResNet50, NCCL .* 0.621 .* 0.619 .* 37.9 %' "$dir/out" && grep -q 'Li et al. 2020' "$dir/out" &&
    grep -q 'digitised' parprof-ddp-paper.svg
result $? "--preset ddp-paper draws and prints what was published"
rm -f parprof-ddp-paper.svg
printf '[preset]\nname = mine\n[options]\nmodel = mini\nranks = 3\nbackend = sim\n' >mine.ini
run --preset ./mine.ini --ranks 2 --figure none
[ "$status" = 0 ] && grep -q 'mini' "$dir/out" && grep -q '2 ranks' "$dir/out"
result $? "a preset gives options, and the command line more"
rm -f mine.ini
for kind in breakdown memory; do
    run --backend sim --model mini --figure $kind --format svg -o - -q
    [ "$status" = 0 ] && grep -q '<svg' "$dir/out"
    result $? "--figure $kind"
done
# Where no driver is, the backend says so; where one is, this says nothing.
if [ -e /proc/driver/nvidia ]; then
    skip "without a driver --backend cuda is status 4" "there is one here"
else
    refuses 4 "no NVIDIA driver" --backend cuda
    run --model mini --layers 1 --d-model 16 --heads 2 --ff 16 --vocab 32 --seq-len 4 --steps 1 --figure none
    [ "$status" = 0 ] && grep -q 'no GPU (.*), running on CPU' "$dir/out"
    result $? "without a GPU auto falls back to the CPU and says why"
fi
refuses 2 "would overwrite" --report x.json --costs x.json
refuses 2 "belongs to --backend cpu" --backend sim --costs x.json
refuses 2 "needs a sweep" --backend sim --model mini --figure sweep
refuses 2 "ddp-paper" --preset nothing
refuses 2 "--ranks changes nothing" --preset ddp-paper --ranks 2

refuses 2 "--mode" --mode dpp
refuses 2 "unknown command" fly
refuses 2 "unknown option\|Unknown option" --bucket-size 25
refuses 2 "--bucket-mb" --mode ddp --bucket-mb
refuses 2 "--bucket-mb" --mode ddp --bucket-mb 25MB
refuses 2 "--bucket-mb" --mode ddp --bucket-mb -1
refuses 2 "--bucket-mb" --mode ddp --bucket-mb nan
refuses 2 "--bucket-mb" --mode ddp --bucket-mb 1e300
refuses 2 "--bucket-mb" --mode single --bucket-mb 25
refuses 2 "--ranks" --ranks 0
refuses 2 "--ranks" --ranks 2.5
refuses 2 "--ranks" --ranks 99999999999999999999
refuses 2 "--ranks" --mode single --ranks 2
refuses 2 "--batch" --mode ddp --ranks 4 --batch 3
refuses 2 "--cluster" --backend cpu --cluster a100x4
refuses 2 "--link" --backend sim --link none
refuses 2 "belongs to --backend cuda" --backend cpu --no-trace
refuses 2 "belongs to --backend cuda" --backend sim --timeout 5
refuses 2 "f32 or f64 on CPU cores" --backend cpu --dtype tf32
refuses 2 "--link" --backend cpu --link 10
refuses 2 "--link" --backend cpu --link -1,20
refuses 2 "--cost" --backend sim --cost free
refuses 2 "unit" --backend sim --cost unit:F=x
refuses 2 "--comm-model" --backend sim --comm-model fast
refuses 2 "--comm-model" --backend cpu --comm-model nccl
refuses 2 "cluster cpu has no .nccl. group" --backend sim --cluster cpu --comm-model nccl
refuses 2 "--allreduce" --backend sim --allreduce nccl
refuses 2 "no/where" --backend sim --cost measured:no/where
refuses 2 "no/where" --backend sim --comm-model measured:no/where
refuses 2 "--overlap" --overlap sometimes
refuses 2 "--overlap optimizer cannot" --overlap optimizer --clip-grad-norm 1
refuses 2 "--overlap optimizer cannot" --overlap none,optimizer --clip-grad-norm 1
refuses 2 "sgd or adam" --optimizer rmsprop
refuses 2 "--momentum" --optimizer adam --momentum 0.9
refuses 2 "--momentum" --momentum -0.1
refuses 2 "1 to 4" --ranks 2 --batch 8 --accumulate 5
refuses 2 "--accumulate" --accumulate 0
refuses 2 "--gradient-as-bucket-view" --mode single --gradient-as-bucket-view
refuses 2 "--first-iteration" --mode single --first-iteration
refuses 2 "sometimes" --overlap none,sometimes
refuses 2 "twice" --overlap none,backward,none
refuses 2 "--overlap" --overlap none,
refuses 2 "one overlap" plan --overlap none,backward
refuses 2 "--devices takes 1 to 4096" --backend sim --devices 5000
refuses 2 "a range is" sweep --backend sim --ranks 0X2..0X4
refuses 2 "twice" sweep --backend sim --ranks 2,4,2
refuses 2 "takes no value: leave out .=no." --backend sim --quiet=no
refuses 2 "--bucket-mb 1..1000: more points" sweep --backend sim --bucket-mb 1..1000 --ranks 1..4096
refuses 2 "cannot read '-q'" render -- -q
refuses 2 "--dtype" --dtype f16
refuses 2 "--format" plan --format yaml
refuses 2 "plan" --format json
refuses 2 "nonesuch" --model nonesuch
refuses 2 "nonesuch.ini" --model ./nonesuch.ini
refuses 2 "nonesuch" --backend sim --cluster nonesuch
refuses 2 "heads" --model mini --heads 7
refuses 2 "--backend" --backend tpu
refuses 2 "--figure" --figure portrait
refuses 2 ".svg, .pdf, .png or .txt" --backend sim -o figure.text
refuses 2 "--dpi" --backend sim -o figure.svg --dpi 96
refuses 2 "--dpi" --backend sim -o figure.png --dpi 0
refuses 2 "--text" --backend sim -o figure.png --text paths
refuses 2 "--text" --backend sim --text outlines
refuses 2 "WxH" --backend sim --size 1280x
refuses 2 "too small" --backend sim --size 1x1
refuses 2 "32767" --backend cpu -o figure.png --size 20000x400
refuses 2 "no figure" --backend sim --figure none --dpi 96
refuses 2 "no/where" --backend sim -o no/where/x.svg
refuses 2 "no/where" --backend sim --trace no/where/x.json
refuses 2 "no/where" --backend cpu --data no/where/x.txt
refuses 2 "directory" --backend cpu --data /
refuses 2 "no regular file" --backend cpu --data /dev/zero
: >"$dir/empty"
refuses 2 "fewer than the batch" --backend cpu --data "$dir/empty"
refuses 2 "--data" --backend sim --data /etc/passwd
for bytes in 'a b c\0' '\0' '\377\376a\0b\0'; do
    printf "$bytes" >"$dir/binary"
    refuses 2 "binary: .*is no text, it has NUL bytes" --backend cpu --data "$dir/binary"
done
{ head -c 70000 /dev/zero | tr '\0' 'a' && printf '\0'; } >"$dir/binary"
refuses 2 "is no text, it has NUL bytes" --backend cpu --data "$dir/binary"
refuses 2 "GiB" --backend cpu --layers 900 --d-model 8192 --ff 32768
refuses 2 "''\|empty" --model ""
refuses 2 "overwrite" --backend sim --trace x.json --report ./x.json
refuses 2 "overwrite" --backend sim -o - --trace -
refuses 2 "no figure" --backend sim --figure none -o x.svg
refuses 2 "--overlap" --mode ddp --first-iteration --overlap backward
for count in ' 3' '3 ' +3 0x10 3e0 3.0 '' 1_000; do
    refuses 2 "--ranks takes a whole number, not '$count'" --ranks "$count"
done
refuses 2 "--ranks takes 1 to 4096, not '-1'" --ranks=-1
refuses 2 "--warmup takes 0 to 1000000, not '-0'" --warmup=-0
for number in ' 1' '1 ' 0x1 nan 1e 1e999; do
    refuses 2 "--lr takes a number, not '$number'" --lr "$number"
done
for link in '10, 20' ' 10,20' '10,0x5' '10,20 '; do
    refuses 2 "--link takes GBPS,US" --link "$link"
done
refuses 2 "--threshold takes" compare --threshold ' 5' a b
refuses 2 "--threshold takes" compare --threshold 'idle= 5' a b
refuses 2 "--budget takes" gate --base true --new true --samples regex:'([0-9])' --budget ' 5m'

# A value of 100,000 characters is never said whole.
long=$(head -c 100000 /dev/zero | tr '\0' x)
brief() { # brief WHAT COMMAND...
    what=$1
    shift
    run "$@"
    [ "$status" != 1 ] && [ -s "$dir/out" -o -s "$dir/err" ] && [ "$(cat "$dir/out" "$dir/err" | wc -c)" -lt 4000 ] && grep -q 'xxx…xxx' "$dir/out" "$dir/err"
    ok=$?
    cut -c1-300 "$dir/out" >"$dir/cut" && mv "$dir/cut" "$dir/out"
    cut -c1-300 "$dir/err" >"$dir/cut" && mv "$dir/cut" "$dir/err"
    result $ok "brief: $what"
}
brief "an error" --backend "$long"
brief "points of a sweep that fail" sweep --backend sim --model "mini,$long" --ranks 2
brief "a font" --backend sim --model mini --font "$long" -q
brief "a command of gate" gate --base "echo 5 #$long" --new "echo 5 #$long" --samples 'regex:([0-9])' --history h.jsonl
brief "a run that fails" gate --base "false #$long" --new true --samples 'regex:([0-9])'
brief "a history" history h.jsonl
rm -f ./*

run --backend sim -q -o f.pdf && run --backend sim -q -o f.png --size 640x400 --dpi 96 && run --backend sim -q -o p.svg --text paths
[ "$status" = 0 ] && [ "$(head -c 5 f.pdf)" = %PDF- ] && [ "$(od -An -tu1 -j16 -N8 f.png | tr -s ' ')" = " 0 0 2 128 0 0 1 144" ] &&
    ! grep -q '<text' p.svg && "$PARPROF" --backend sim -q --format svg -o - | grep -q '<text'
result $? "the figure's format follows its name"
rm -f f.pdf f.png p.svg

mkdir folder.svg
run --backend sim -o folder.svg
[ "$status" = 2 ] && grep -q folder.svg "$dir/err" && [ -z "$(ls -A folder.svg)" ]
result $? "a folder is no output"
rmdir folder.svg

run --backend sim -q --trace /dev/full --figure none
[ "$status" = 2 ] && grep -q /dev/full "$dir/err" && [ -c /dev/full ]
result $? "a full device is an error, and stays a device"

echo '{]' | "$PARPROF" render - 2>"$dir/err" >"$dir/out"
[ $? = 2 ] && grep -q '^parprof: standard input:1: ' "$dir/err" &&
    ! "$PARPROF" plan -o - 2>"$dir/err" >/dev/full && grep -q "cannot write to standard output: " "$dir/err"
result $? "errors name standard input and output"

"$PARPROF" list >/dev/full 2>"$dir/err"
[ $? = 2 ] && grep -q "standard output" "$dir/err"
result $? "a full standard output is an error"

# A file may grow to 1 block of 512 bytes: what is written is more, as on a full disk.
echo old >small.svg
(ulimit -f 1; "$PARPROF" --backend sim -q -o small.svg >"$dir/out" 2>"$dir/err")
[ $? = 2 ] && [ "$(ls)" = small.svg ] && [ "$(cat small.svg)" = old ]
result $? "a full disk leaves the old file and no half one"
rm -f small.svg

if (ulimit -v 300000 && "$PARPROF" --backend sim --model mini --figure none -q) 2>"$dir/err" >"$dir/out"; then
    (ulimit -v 300000; "$PARPROF" --backend sim --model mini --ranks 4 --batch 40000 --accumulate 10000 --figure none >"$dir/out" 2>"$dir/err")
    [ $? = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q '^parprof: out of memory, .* MiB .* --ranks 4 or --accumulate 10000' "$dir/err" &&
        "$PARPROF" plan --model mini --mode pipeline --ranks 8 --layers 8 --chunks 2000 --batch 2000 --format json -o large.json &&
        ! (ulimit -v 100000; "$PARPROF" run large.json --backend sim --figure none >"$dir/out" 2>"$dir/err") && grep -q '^parprof: .*large.json' "$dir/err" &&
        [ "$(wc -l <"$dir/err")" = 1 ]
    result $? "where memory runs out, that is said, and what is too large"
    rm -f large.json
else
    skip "where memory runs out, that is said, and what is too large" "address space cannot be limited here"
fi

ln -s target.svg link.svg
run --backend sim -q -o link.svg
[ "$status" = 0 ] && [ -h link.svg ] && [ -s target.svg ]
result $? "a link to nothing is written through"
rm -f ./*

run --backend sim --model bert-base --ranks 3 --trace a.json --report ar.json -o a.svg
cp "$dir/out" a.txt
LC_ALL=de_DE.UTF-8 run --backend sim --model bert-base --ranks 3 --trace b.json --report br.json -o b.svg
grep -v '^wrote' "$dir/out" >b.txt
grep -v '^wrote' a.txt | cmp -s - b.txt && cmp -s a.json b.json && cmp -s a.svg b.svg &&
    sed 's/"trace": "b.json"/"trace": "a.json"/' br.json | cmp -s ar.json - &&
    [ -s a.json ] && [ -s a.svg ] && [ -s ar.json ]
result $? "same options: same bytes of summary, trace, report and figure"
run plan --mode ddp --format json
cp "$dir/out" p.json
run plan --mode ddp --format json
cmp -s "$dir/out" p.json && [ -s p.json ]
result $? "same options: same bytes of plan"
rm -f ./*

run plan --mode ddp --model bert-base
[ "$status" = 0 ] && grep -q 'classifier' "$dir/out"
result $? "plan prints buckets"

small="--model mini --layers 1 --d-model 32 --heads 2 --ff 64 --vocab 50 --seq-len 8"
# shellcheck disable=SC2086
run --mode ddp $small --ranks 2 --batch 4 --steps 3 --warmup 1 --link none --report r.json --trace t.json
[ "$status" = 0 ] && [ -s parprof-ddp.svg ] && [ -s r.json ] && [ -s t.json ] && grep -q 'equal on all ranks' "$dir/out"
result $? "a small run writes figure, report and trace"
rm -f ./*

# shellcheck disable=SC2086
run --mode dp $small --ranks 4 --batch 5 --gather loss --optimizer adam --steps 3 --warmup 1 --link none --report r.json
[ "$status" = 0 ] && grep -q '^rank 0 extra, to rank 1 .*Adam moments .*; measured ' "$dir/out" &&
    grep -q "mean of 3 ranks' means, not that of the samples: one of rank 2 counts 1.67 times .* others 0.833" "$dir/out" &&
    grep -q '5 samples in chunks of 2 are for 3 ranks: 1 of 4 take no part' "$dir/out" &&
    ! grep -q '^none' "$dir/out" && grep -q '"gather": "loss"' r.json
result $? "DataParallel says what rank 0 keeps, how much samples count, and who is idle"
rm -f ./*

# shellcheck disable=SC2086
run --mode dp $small --ranks 2 --batch 4 --loss-reduction sum --steps 2 --warmup 1 --link none
[ "$status" = 0 ] && grep -q '^loss ' "$dir/out" && ! grep -q perplexity "$dir/out"
result $? "a sum of losses has no perplexity"
rm -f ./*

run --mode dp --backend sim --model bert-base --ranks 4 --batch 128 --optimizer adam --gil
[ "$status" = 0 ] && grep -q 'Adam moments 826.4 MiB.*gathered logits are 1.5 kB' "$dir/out" &&
    grep -q '^launches: one thread' "$dir/out" && grep -q '^0.0 % of communication hidden\.$' "$dir/out"
result $? "DataParallel simulated: moments of rank 0, small logits, launches by one thread"
rm -f ./*
refuses 2 'take --cost analytic' --mode dp --backend sim --gil --cost measured:x.json
refuses 2 'gil' --mode dp --backend cpu --gil

for i in 1 2 3 4 5 6 7 8 9; do
    echo "A cat sat on the mat; \"what a day\", it said."
done >"$dir/cats.txt"
# shellcheck disable=SC2086
run --mode ddp $small --ranks 2 --batch 4 --steps 3 --link none --data "$dir/cats.txt" --report r.json
[ "$status" = 0 ] && grep -q '"data": "cats.txt"' r.json &&
    grep -q '^memory: .*(weight .*), measured ' "$dir/out" && grep -q '"measured_bytes"' r.json
result $? "a run on a text says so, and how much memory it took"
rm -f ./*

# shellcheck disable=SC2086
run --mode ddp $small --ranks 2 --batch 4 --steps 3 --warmup 1 --link none --overlap none,backward --report r.json
[ "$status" = 0 ] && [ -s parprof-ddp.svg ] && grep -q '^none .* measured (predicted' "$dir/out" &&
    grep -q '^backward .* measured (predicted' "$dir/out" && grep -q 'losses equal in every overlap' "$dir/out" &&
    ! grep -q ' ms  predicted' "$dir/out" && grep -q '"overlap": "none", "measured": true' r.json && grep -q causes_ns r.json
result $? "two overlaps are both run, and lose alike"
rm -f ./*

# shellcheck disable=SC2086
run plan $small --ranks 2 --batch 4 --format json -o p.json
# shellcheck disable=SC2086
run --backend sim $small --ranks 2 --batch 4 --figure none --trace made.json
run run p.json --backend sim --figure none --trace read.json
[ "$status" = 0 ] && cmp -s made.json read.json && grep -q '^plan p.json: mode ddp' "$dir/out"
result $? "a plan from a file is simulated as the one that was made"
run run p.json --steps 3 --warmup 1 --link none --report r.json
[ "$status" = 0 ] && [ -s parprof-ddp.svg ] && grep -q 'equal on all ranks' "$dir/out" && grep -q '"plan": "p.json"' r.json
result $? "a plan from a file is run"
sum=$(cksum <p.json)
ln -s p.json link.svg
for option in "--trace ./p.json" "-o link.svg"; do
    # shellcheck disable=SC2086
    run run p.json --backend sim $option
    [ "$status" = 2 ] && grep -q 'would overwrite .p.json., which is to be read' "$dir/err" || break
done && [ "$(cksum <p.json)" = "$sum" ]
result $? "what is read is not overwritten"
run --backend sim --cost measured:p.json --report p.json
[ "$status" = 2 ] && grep -q -- '--report would overwrite' "$dir/err" &&
    run sweep --backend sim --cost measured:p.json --cost analytic --report p.json
[ "$status" = 2 ] && grep -q -- '--report would overwrite' "$dir/err" && [ "$(cksum <p.json)" = "$sum" ]
result $? "measured costs are not overwritten"
rm link.svg
run run /dev/zero
[ "$status" = 2 ] && grep -q 'it is a device' "$dir/err"
result $? "a device is no plan"
run run p.json --ranks 3
[ "$status" = 2 ] && grep -q 'ranks: the plan in p.json says it' "$dir/err"
result $? "options that define a plan are refused beside one"
run run p.json --clip-grad-norm 1
[ "$status" = 2 ] && grep -q 'no use for it' "$dir/err"
result $? "clipping is refused where the plan clips nothing"
sed 's/"deps":\[0\]/"deps":[]/' p.json >broken.json
run run broken.json
[ "$status" = 2 ] && grep -q 'broken.json: op ' "$dir/err"
result $? "a plan that cannot be proved is refused"
sed 's/"ini":.*/"was":1,/' p.json >old.json
run run old.json
[ "$status" = 2 ] && grep -q 'give --backend sim' "$dir/err"
result $? "a plan without its model is not run"
run run old.json --backend sim --figure none
[ "$status" = 0 ] && grep -q 'says too little to be run' "$dir/out"
result $? "a plan without its model is simulated"
head -c 1000 p.json >cut.json
: >empty.json
for file in cut.json empty.json none.json .; do
    run run "$file"
    [ "$status" = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ] || break
done
result $? "a file that is no plan is refused in one line"
rm -f ./*

# A file that is read does not take the place of a closed stream.
mkfifo plan.fifo
"$PARPROF" run plan.fifo --backend sim --figure none <&- >&- 2>&- &
exec 3>plan.fifo
opened=
for try in 1 2 3 4 5 6 7 8 9 10; do
    opened=$(find "/proc/$!/fd" -lname '*plan.fifo' 2>/dev/null | sed 's/.*\///')
    [ -z "$opened" ] || break
    sleep 0.2
done
exec 3>&-
wait $!
[ $? = 2 ] && [ "${opened:-0}" -gt 2 ]
result $? "closed standard streams stay closed to what is opened"
rm -f ./*

# How long the first measured step takes to come depends on the machine: an interrupt before it says so, and is tried later.
for seconds in 1 3 10 30 60; do
    # shellcheck disable=SC2086
    "$PARPROF" --mode ddp $small --ranks 2 --batch 4 --steps 1000000 --report r.json >"$dir/out" 2>"$dir/err" &
    sleep "$seconds"
    kill -INT $!
    wait $!
    status=$?
    grep -q "before the first measured step" "$dir/err" || break
done
[ "$status" = 130 ] && [ -s r.json ] && grep -q '"cancelled"' r.json && [ "$(ls -A)" = "parprof-ddp.svg
r.json" ]
result $? "an interrupt leaves a partial report, status 130"
rm -f ./*

# What takes tens of seconds ends with the interrupt, and writes nothing after it.
if env --default-signal=INT true 2>/dev/null; then
    timeout -s INT 0.5 env --default-signal=INT "$PARPROF" --backend sim --model bert-base --ranks 512 --batch 4096 \
        --figure none --report r.json >"$dir/out" 2>"$dir/err"
    [ $? = 124 ] && [ ! -s "$dir/out" ] && [ -z "$(ls -A)" ]
    result $? "an interrupt ends a simulation at once"
else
    skip "an interrupt ends a simulation at once" "env has no --default-signal"
fi
# What CI cancels with is an interrupt too, as soon as it is caught.
# shellcheck disable=SC2086
"$PARPROF" --mode ddp $small --ranks 2 --batch 4 --steps 1000000 --figure none >"$dir/out" 2>"$dir/err" &
tries=0
while [ $tries -lt 300 ] && ! grep -q '^SigCgt:.*[4567cdef]...$' "/proc/$!/status"; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -TERM $!
wait $!
[ $? = 130 ] && grep -q '^parprof: stopping' "$dir/err"
result $? "SIGTERM is an interrupt, status 130"
done_testing
