#!/bin/sh
# What a clumsy user of the GPU backend meets: modules that are none, plans for other machines, parts of a GPU that the
# driver refuses half-way, weights that cannot be read back.
. "${srcdir:-.}/tests/cuda.sh"

set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 4 --warmup 0 \
    --steps 1

# refused PATTERN NAME: a run with the module in the folder "other" ends with status 4 and one line
refused() {
    emulated other/parprof run --backend cuda --figure none
    [ "$status" = 4 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q "$1" "$dir/err"
    result $? "$2"
}
mkdir other
cp "$PARPROF" other/
head -c 100000 "$builddir/parprof-cuda.so" >other/parprof-cuda.so
refused 'parprof-cuda.so is no whole module; .*install' "a module that was cut"
: >other/parprof-cuda.so
refused 'parprof-cuda.so is no whole module; .*install' "an empty module"
version=$("$PARPROF" --version | awk '{ print $2 }')
other=$(echo "$version" | tr 0-9 9012345678)
LC_ALL=C sed "s/\\x00$version\\x00/\\x00$other\\x00/" "$builddir/parprof-cuda.so" >other/parprof-cuda.so
refused "another version's module; .*install" "a module of another version"
rm -r other

CUDA_VISIBLE_DEVICES=$(printf '\033[31m')
export CUDA_VISIBLE_DEVICES
for command in list doctor; do
    emulated --gpus 0 "$PARPROF" $command
    grep -q 'CUDA_VISIBLE_DEVICES is "?\[31m"' "$dir/out"
    result $? "what a variable holds does not steer the terminal: $command"
done
unset CUDA_VISIBLE_DEVICES

"$PARPROF" plan --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 4 --ranks 4 \
    --allreduce ring --format json -o four.json
for link in '' '--link 100,3'; do
    # shellcheck disable=SC2086
    emulated --gpus 2 "$PARPROF" run four.json --backend cuda --warmup 0 --steps 1 --figure none $link
    [ "$status" = 0 ] && grep -q "^link paced to ${link:+100}" "$dir/out"
    result $? "a plan for four devices on two GPUs: ranks that share one have a paced link ${link:+of $link}"
done

sed 's/\("class":"copy","rank":2,"device":\)2/\13/' four.json >torn.json
emulated --gpus 2 "$PARPROF" run torn.json --backend cuda --figure none
[ "$status" = 2 ] && grep -q '^parprof: rank 2 has lanes on devices 2 and 3' "$dir/err"
result $? "a rank on two GPUs is refused"

emulated --gpus 1 --option MEMORY=1000 "$PARPROF" run "$@" --ranks 2 --figure none
[ "$status" = 2 ] && grep -q '2 ranks on GPU 0 need 1 MiB, and 0 MiB of its memory are free' "$dir/err"
result $? "a model that does not fit: what it needs is more than what is free"

# Costs are measured first, by a run whose parts the driver refuses.
emulated --gpus 1 --fault cuGreenCtxCreate:2:999 "$PARPROF" run "$@" --ranks 2 --figure none --costs costs.json
[ "$status" = 0 ] && grep -q '^sharing: ranks interleave' "$dir/out" && ! grep -q 'SMs' "$dir/out"
result $? "parts of a GPU that were refused once are not there for the run that is predicted"
grep -q '"source": "mini on 1 × emulated GPU,' costs.json
result $? "measured costs say on which GPU"

emulated --gpus 1 --option CALLS="$PWD/calls" "$PARPROF" run "$@" --ranks 2 --figure none
last=$(awk '$1 == "cudaMemcpy" { print $2 }' calls)
emulated --gpus 1 --option NO_LEAKS=1 --fault "cudaMemcpy:$((last - 1)):719" "$PARPROF" run "$@" --ranks 2 --figure none --report r.json
[ "$status" = 5 ] && grep -q '^parprof: .*cudaMemcpy failed' "$dir/err" && grep -q '^partial: 1 of 1 steps' "$dir/out"
result $? "weights that cannot be read back: a partial report"
! grep -qi 'weights' "$dir/out" && ! grep -q 'weights_equal' r.json
result $? "which does not compare them"

emulated --gpus 2 "$PARPROF" sweep "$@" --backend sim --ranks 2 --report s.json -o s.svg
[ "$status" = 0 ] && grep -q '2 × emulated GPU' "$dir/out" && grep -q 'emulated GPU' s.json && grep -q 'emulated GPU' s.svg
result $? "a sweep says on which GPUs"
done_testing
