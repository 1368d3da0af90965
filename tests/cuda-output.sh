#!/bin/sh
# What an emulated GPU makes says so, what the records lack is counted, what refuses to record is named; a rank that hangs
# is reported; and nothing of CUDA is needed to start.
. "${srcdir:-.}/tests/cuda.sh"

set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 4 --ranks 2 \
    --warmup 1 --steps 2 --bucket-mb 0.001
readelf -d "$builddir/parprof-cuda.so" >"$dir/out"
grep -q 'NEEDED.*libcudart\.so\.13' "$dir/out"
result $? "the module needs the shared libcudart"
ldd "$PARPROF" >"$dir/out"
! grep -q 'libcu\|libnccl\|libnvidia' "$dir/out"
result $? "the program needs nothing of CUDA"

# A module whose libraries are nowhere, on a machine with a driver.
mkdir hidden
cp "$PARPROF" hidden/
sed 's/libcudart\.so\.13/libmissing.so.1/g' "$builddir/parprof-cuda.so" >hidden/parprof-cuda.so
for backend in cpu sim; do
    emulated hidden/parprof --backend $backend --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --ranks 2 \
        --figure none
    [ "$status" = 0 ]
    result $? "--backend $backend where the CUDA libraries are missing"
done
emulated hidden/parprof --backend cuda --model mini --figure none
[ "$status" = 4 ] && grep -q 'libmissing.so.1' "$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
result $? "--backend cuda names the library that is missing"
rm -r hidden

emulated "$PARPROF" "$@" --trace t.json --report r.json -o f.svg
[ "$status" = 0 ] && [ ! -s "$dir/err" ]
result $? "a traced run"
for file in "$dir/out" t.json r.json f.svg; do
    grep -q 'emulated GPU' "$file"
    result $? "${file##*/} says that the GPU is emulated"
done
emulated "$PARPROF" sweep "$@" --seed 1,2 --figure none
[ "$status" = 0 ] && grep -q 'measured on cuda, .*emulated GPU' "$dir/out"
result $? "so does a sweep"
for what in drop:7=dropped zero:7='without times' invert:7='end before'; do
    emulated --option "CUPTI=${what%%=*}" "$PARPROF" "$@" --figure none --report r.json
    { [ "$status" = 0 ] && grep -q "${what#*=}" r.json; } || { [ "$status" = 5 ] && grep -q "record" "$dir/err"; }
    result $? "records: ${what%%=*} is reported"
done
for code in 39 35 999; do
    emulated --option CUPTI=refuse:$code "$PARPROF" "$@" --figure none --report r.json
    [ "$status" = 0 ] && grep -q 'from events' r.json
    result $? "CUPTI refuses with $code: times from events, and labelled"
done
emulated --option CUPTI=withhold "$PARPROF" "$@" --figure none --report r.json
{ [ "$status" = 0 ] && grep -q 'from events' r.json; } || { [ "$status" = 5 ] && grep -q 'recorded' "$dir/err"; }
result $? "CUPTI that records nothing is noticed"

LIMIT=40
emulated --option HANG=ncclDevKernel:12 "$PARPROF" "$@" --figure none --timeout 3
[ "$status" = 5 ] && grep -q 'rank [01] waits in op' "$dir/err"
result $? "a rank that hangs in a collective is named within its time"
emulated --option HANG=ncclDevKernel:1 "$PARPROF" "$@" --figure none --timeout 3
[ "$status" = 5 ] && grep -q 'the first all-reduce by NCCL does not end within 3 s' "$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
result $? "a first collective that hangs is told"
emulated --option HANG=zero:1 "$PARPROF" "$@" --figure none --timeout 3
[ "$status" = 5 ] && grep -q 'a call hangs in' "$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
result $? "a call that hangs before the first step is told"
emulated --gpus 1 --fault cudaEventRecord:1:400 "$PARPROF" "$@" --figure none
[ "$status" = 0 ] && [ ! -s "$dir/err" ]
result $? "a driver that refuses events on streams of green contexts: the GPU is not split"

set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 4 --ranks 2 \
    --warmup 1 --steps 6 --bucket-mb 0.001
emulated --option HANG=ncclDevKernel:90 "$PARPROF" "$@" --figure none --timeout 3
[ "$status" = 5 ] && grep -q 'rank 0 waits in op .*all-reduce.*rank 1 waits in op .*all-reduce' "$dir/err" &&
    ! grep -q pack "$dir/err" && grep -q 'partial: [1-5] of 6 steps' "$dir/out"
result $? "steps that were over before a hang are reported, and nothing else is said to hang"

# NCCL between the stages of a pipeline.
set -- --backend cuda --mode pipeline --chunks 4 --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 \
    --batch 8 --ranks 2 --warmup 1 --steps 2
emulated "$PARPROF" "$@" --figure none --report r.json --trace t.json
[ "$status" = 0 ] && [ ! -s "$dir/err" ] && grep -q '"link": "NCCL"' r.json && grep -q '"records of no operation": "0"' r.json &&
    [ "$(grep -o '_Z22ncclDevKernel_SendRecv' t.json | wc -l)" = 32 ] # 4 micro-batches there and back, both ends, twice
result $? "each message of a pipeline is a kernel of NCCL at both ends, of its operation"
emulated --option HANG=ncclDevKernel_SendRecv:1 "$PARPROF" "$@" --figure none --timeout 1
[ "$status" = 5 ] && grep -q 'the first send by NCCL does not end within 1 s' "$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
result $? "a first message that hangs is told"
emulated --option HANG=ncclDevKernel_SendRecv:20 "$PARPROF" "$@" --figure none --timeout 1
[ "$status" = 5 ] && grep -q 'rank 0 waits in op .*(\(send\|recv\).*rank 1 waits in op .*(\(send\|recv\)' "$dir/err"
result $? "a message that hangs is named at both ends"
done_testing
