#!/bin/sh
# One run in several processes, histories, and delays on purpose.
. "${srcdir:-.}/tests/tap.sh"
small="--backend cpu --link none --ranks 2 --layers 1 --d-model 16 --heads 2 --ff 32 --vocab 50 --seq-len 4"
says() { grep -q -e "$1" "$dir/out"; }
errs() { grep -q -e "$1" "$dir/err"; }

# shellcheck disable=SC2086
run $small --steps 6 --processes 3 --report r.json --trace t.json --history h.jsonl --bucket-mb 0.01 --preset none.ini
[ "$status" = 2 ] && errs 'process 1 of 3: .*none.ini' && [ ! -e r-1.json ] && [ ! -e h.jsonl ]
result $? "what one process refuses is said, and ends it"
run $small --steps 6 --processes 3 --report r.json --trace t.json --history h.jsonl --bucket-mb 0.01 --clip-grad-norm 0.1
[ "$status" = 0 ] && [ "$(ls)" = "h.jsonl
r-1.json
r-2.json
r-3.json
t-1.json
t-2.json
t-3.json" ]
result $? "files are numbered, and no figure is drawn"
grep -q '"clip_grad_norm": "0.1"' r-3.json && grep -q '"bucket_bytes": "1048[0-9]"' r-3.json && [ "$(wc -l <h.jsonl)" = 3 ] && says '^process 3 of 3: step .* median of 6; r-3.json$' && says '^3 processes: step '
result $? "each with the options given, each in the history"
run history h.jsonl
[ "$(grep -c ' ddp .* 2 *6 ' "$dir/out")" = 3 ]
result $? "as runs of their own"
run $small --steps 6 --processes 6 -q --history six.jsonl && [ ! -s "$dir/out" ] && run compare six.jsonl six.jsonl && says 'n = 6 and 6\|samples\|INCOMPARABLE\|SAME'
[ "$status" != 2 ] && [ "$(ls | grep -c json)" = 8 ]
result $? "without a report nothing else is left"
run $small --processes 2 --report -
[ "$status" = 2 ] && errs 'takes a name, not -' && run $small --processes 2 --figure timeline && [ "$status" = 2 ] && errs 'give --output' && run --backend sim --processes 2 && [ "$status" = 2 ] && errs 'a simulation'
result $? "refused: no name to number, a figure without one, a simulation"

# What is written when the interrupt comes is named, what is from before is not.
echo old >q-2.json
"$PARPROF" $small --steps 100000 --processes 2 --report q.json --trace p.json >"$dir/out" 2>"$dir/err" &
sleep 1.5
kill -INT $!
wait $!
status=$?
if [ -e q-1.json ] && [ ! -s "$dir/out" ]; then
    [ "$status" = 130 ] && errs '0 of 2 processes were through; process 1 was cut short and left q-1.json, p-1.json$'
    result $? "an interrupt names the files of the process that it cut short"
else
    skip "an interrupt names the files of the process that it cut short" "it came too early or too late"
fi
rm -f q-*.json p-*.json

run $small --history one.jsonl --figure none -q && run history one.jsonl
[ "$status" = 0 ] && says ' ddp .* 2 *30 '
result $? "of what is kept to be compared 30 steps are measured"
run $small --inject-delay 50 --steps 6 --report d.json --figure none
[ "$status" = 0 ] && says '^delay: 50 % of each computation, injected' && grep -q '"labels": .*"delay": "50 % of each computation, injected"' d.json
result $? "an injected delay is said, and in the report"
run compare r-1.json r-2.json -- d.json d.json
! says 'delay is' && run $small --steps 6 --bucket-mb 0.01 --clip-grad-norm 0.1 --inject-delay 50 --report d.json -o d.svg && grep -q 'delay: 50 % of each computation, injected' d.svg &&
    run compare r-1.json r-2.json -- d.json && says 'differs, and may: .*label delay not said -> 50 %'
result $? "and in the caption; it may differ"
run --backend sim --inject-delay 50
[ "$status" = 2 ] && errs 'belongs to --backend cpu'
result $? "only what runs on cores can be delayed"
done_testing
