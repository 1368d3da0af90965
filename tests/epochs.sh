#!/bin/sh
# Training over epochs: the columns of PyTorch's pipeline tutorial, validation and test that do not depend on how the model
# is trained in parallel, the best epoch's weights tested.
. "${srcdir:-.}/tests/tap.sh"
small="--backend cpu --layers 2 --d-model 16 --heads 2 --ff 32 --vocab 64 --seq-len 4 --figure none"
# 1,077 words of 41, whose next one is nearly always the same: 269 samples of 4, of which 215 to train, 27 to validate, 27 to
# test.
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "w%d%s", i % 40 * 7 % 40, i % 13 ? " " : " again\n" }' >words.txt
# Of the report's member "training".
numbers() { sed -n '/^ "training": /,/^ "/p' "$1" | sed '1!{/^ "/d;}' | tr ',{}' '\n\n\n' | sed -n "s/^ *\"$2\": *//p"; }
near() { # near A B TOLERANCE: lists of numbers
    [ -n "$1" ] && [ "$(echo "$1" | wc -w)" = "$(echo "$2" | wc -w)" ] &&
        echo "$1 $2" | tr '\n' ' ' | awk -v t="$3" '{ n = NF / 2; for (i = 1; i <= n; i++) { d = $i / $(i + n) - 1; if (d > t || d < -t) exit 1 } }'
}

# shellcheck disable=SC2086
run $small --mode pipeline --ranks 2 --chunks 2 --batch 8 --epochs 3 --epoch-batches 7 --log-every 3 --eval-batch 4 \
    --lr 0.5 --lr-step 0.5 --clip-grad-norm 1 --data words.txt --report r.json
[ "$status" = 0 ] && [ "$(grep -cE '^\| epoch   [123] \|     [367]/    7 batches \| lr [0-9.]{4} \| ms/batch +[0-9.]+ \| loss +[0-9.]+ \| ppl +[0-9.]+$' "$dir/out")" = 9 ]
result $? "a row every so many batches and at an epoch's end"
[ "$(sed -n 's/^| epoch .*7\/ .* lr \([0-9.]*\) .*/\1/p' "$dir/out" | tr '\n' ' ')" = "0.50 0.25 0.12 " ] &&
    near "$(numbers r.json lr)" "0.5 0.25 0.125" 1e-12
result $? "the learning rate is multiplied after each epoch"
[ "$(grep -c '^| end of epoch   [123] | time: .*s | valid loss .* | valid ppl ' "$dir/out")" = 3 ] &&
    [ "$(grep -c '^| End of training | test loss .* | test ppl ' "$dir/out")" = 1 ] && grep -q '^best epoch 3 of 3: valid loss' "$dir/out"
result $? "each epoch is validated, the best is tested, and the summary says so"
tail -3 "$dir/out" | grep -q "^the last epoch's last steps: loss " && [ "$(numbers r.json batches | tr '\n' ' ')" = "7 7 7 " ] && [ "$(numbers r.json test_samples)" = 24 ]
result $? "the report has the batches of each epoch, and how much was tested"

ok=0
for mode in "--mode single --ranks 1" "--mode ddp --ranks 3" "--mode dp --ranks 3 --gather loss" \
    "--mode dp --ranks 2" "--mode pipeline --schedule zb1p --ranks 3 --chunks 4 --checkpoint always" \
    "--mode pipeline --schedule interleaved --ranks 2 --chunks 4"; do
    # shellcheck disable=SC2086
    run $small $mode --layers 4 --batch 8 --epochs 3 --epoch-batches 7 --eval-batch 4 --lr 0.5 --lr-step 0.5 --clip-grad-norm 1 \
        --data words.txt --dtype f64 -q --report m.json
    [ "$status" = 0 ] || ok=1
    [ "$mode" = "--mode single --ranks 1" ] && cp m.json single.json
    case $mode in
    *"--gather loss"*) near "$(numbers m.json valid_loss)" "$(numbers single.json valid_loss)" 0.05 || ok=1 ;; # a mean of means
    *) near "$(numbers m.json valid_loss) $(numbers m.json test_loss)" "$(numbers single.json valid_loss) $(numbers single.json test_loss)" 1e-9 || ok=1 ;;
    esac
    [ $ok = 0 ] || { echo "# $mode"; break; }
done
result $ok "validation and test are those of the single rank, whatever the mode"

# A rate that grows a thousandfold ruins the model after the first epoch: its weights are tested, as if there were no more.
# shellcheck disable=SC2086
run $small --mode single --batch 8 --epochs 1 --data words.txt -q --report one.json
# shellcheck disable=SC2086
run $small --mode single --batch 8 --epochs 3 --lr-step 1000 --data words.txt --report r.json
[ "$status" = 0 ] && [ "$(numbers r.json best_epoch)" = 1 ] && [ "$(numbers r.json test_loss)" = "$(numbers one.json test_loss)" ]
result $? "what is tested are the weights of the best epoch"
[ "$(numbers r.json batches | tr '\n' ' ')" = "27 27 27 " ]
result $? "an epoch is all of the text's part"


# Of each step there is its loss in the report: rows are means over those since the row before, an epoch's loss over all.
# shellcheck disable=SC2086
run $small --mode single --batch 8 --epochs 1 --epoch-batches 7 --steps 7 --log-every 3 --lr 0.5 --data words.txt --report r.json
steps=$(grep -o '^ "loss": \[[^]]*\]' r.json | tr -d ' "loss:[]' | tr ',' ' ')
expected=$(echo "$steps" | awk '{ a = ($1 + $2 + $3) / 3; b = ($4 + $5 + $6) / 3; printf "%.2f %.2f %.2f %.2f %.2f %.2f", a, exp(a), b, exp(b), $7, exp($7) }')
[ "$(sed -n 's/^| epoch .* loss *\([0-9.]*\) | ppl *\([0-9.]*\)$/\1 \2/p' "$dir/out" | tr '\n' ' ')" = "$expected " ] &&
    near "$(numbers r.json loss)" "$(echo "$steps" | awk '{ print ($1 + $2 + $3 + $4 + $5 + $6 + $7) / 7 }')" 1e-5 &&
    near "$(sed -n 's/^| end of epoch .* valid loss .* valid ppl *//p' "$dir/out")" "$(numbers r.json valid_loss | awk '{ print exp($1) }')" 1e-3 &&
    near "$(sed -n 's/^| End of training .* test loss .* test ppl *//p' "$dir/out")" "$(numbers r.json test_loss | awk '{ print exp($1) }')" 1e-3
result $? "rows have the mean loss since the row before and its perplexity"

# The last tenth is what the part to train on never says: nothing that was learned helps there, and only there.
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "w%d ", i < 900 ? i % 40 * 7 % 40 : i * i * 11 % 37 }' >turn.txt
# shellcheck disable=SC2086
run $small --mode single --batch 8 --epochs 6 --lr 1 --clip-grad-norm 1 --eval-batch 4 --data turn.txt -q --report r.json
awk -v l="$(numbers r.json loss | tail -1)" -v v="$(numbers r.json valid_loss | tail -1)" -v t="$(numbers r.json test_loss)" \
    'BEGIN { exit !(l < 1 && v < 1 && t > 3) }'
result $? "each part is what it is for"

# Nothing is learned: the second epoch's batches are those that an epoch of twice as many goes on with.
losses() { grep -o '^ "loss": \[[^]]*\]' "$1" | tr -d ' "loss:[]'; }
# shellcheck disable=SC2086
run $small --mode single --batch 8 --epochs 1 --epoch-batches 6 --steps 6 --lr 0 -q --report one.json
# shellcheck disable=SC2086
run $small --mode single --batch 8 --epochs 2 --epoch-batches 3 --steps 3 --lr 0 -q --report two.json
[ -n "$(losses two.json)" ] && [ "$(losses one.json | cut -d, -f4-)" = "$(losses two.json)" ]
result $? "epochs go on in the data"

# Nothing is learned: what dropout does shows in training, and nowhere else.
for dropout in 0 0.6; do
    sed "s/^dropout = .*/dropout = $dropout/" "$srcdir/plan/models/transformer-lm.ini" >"lm$dropout.ini"
    # shellcheck disable=SC2086
    run $small --model "./lm$dropout.ini" --mode single --batch 8 --epochs 1 --epoch-batches 3 --lr 0 --data words.txt -q --report "lm$dropout.json"
done
[ "$(numbers lm0.json valid_loss)" = "$(numbers lm0.6.json valid_loss)" ] && [ -n "$(numbers lm0.json test_loss)" ] &&
    [ "$(numbers lm0.json test_loss)" = "$(numbers lm0.6.json test_loss)" ] && ! near "$(numbers lm0.json loss)" "$(numbers lm0.6.json loss)" 1e-4
result $? "evaluation is without dropout"

# shellcheck disable=SC2086
run $small --mode ddp --ranks 2 --epochs 1 --epoch-batches 3 --steps 2 --report r.json
[ "$status" = 0 ] && grep -q 'valid loss' "$dir/out" && [ "$(grep -o '^ "loss": \[[^]]*\]' r.json | tr ',' '\n' | wc -l)" = 2 ]
result $? "synthetic data has epochs too; the last steps are measured"

ok=0
for wrong in "--epoch-batches 3" "--lr-step 0.5" "--eval-batch 4" "--epochs 0" "--epochs 1 --overlap none,backward --ranks 2" \
    "--mode pipeline --ranks 2 --epochs 2 --chain 2" "--epochs 1 --first-iteration" "--epochs 1 --eval-batch 30 --data words.txt" \
    "--epochs 1 --data missing.txt" "--epochs 1 --backend sim" "--epochs x"; do
    # shellcheck disable=SC2086
    run $small $wrong --report no.json
    [ "$status" = 2 ] && [ "$(wc -l <"$dir/err")" = 1 ] && [ ! -e no.json ] || { echo "# $wrong"; ok=1; }
done
result $ok "what does not belong to epochs or does not fit is refused before anything runs"

await() { # await LINE SECONDS: of standard output, or the test fails by what is not there
    tries=$(($2 * 10))
    while [ $tries -gt 0 ] && ! grep -q "$1" "$dir/out"; do
        sleep 0.1
        tries=$((tries - 1))
    done
}

# shellcheck disable=SC2086
"$PARPROF" $small --mode ddp --ranks 2 --epochs 1000 --report cut.json >"$dir/out" 2>"$dir/err" &
await '^| end of epoch' 100
kill -INT $!
wait $!
[ $? = 130 ] && grep -q '^| end of epoch' "$dir/out" && grep -q '^best epoch' "$dir/out" && [ -s cut.json ]
result $? "an interrupt leaves what the epochs came to"

# Batches of 4 to train, then as many of 4000 to validate: a quarter of a minute.
# shellcheck disable=SC2086
"$PARPROF" $small --mode single --batch 4 --epochs 2 --epoch-batches 500 --log-every 500 --eval-batch 4000 --report cut.json >"$dir/out" 2>"$dir/err" &
await '^| epoch   1 |   500/  500 batches' 30
kill -INT $!
wait $!
[ $? = 130 ] && ! grep -q 'end of epoch' "$dir/out" &&
    grep -q '^epoch 1 was trained, and interrupted while it was validated: loss [0-9.]* (perplexity ' "$dir/out" &&
    [ "$(numbers cut.json batches)" = 500 ] && [ -n "$(numbers cut.json ms_batch)" ] && [ -z "$(numbers cut.json valid_loss)" ] && ! grep -q best_epoch cut.json
result $? "an interrupt of the validation leaves what was trained, soon"
done_testing
