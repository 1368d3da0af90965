#!/bin/sh
# Gangs between GPUs: sums of our own copies and of NCCL, pairs that are tried, refusals, aborts, failures.
. "${srcdir:-.}/tests/cuda.sh"
comm="$builddir/tests/cuda-comm"

# passes NAME [OPTION of with-emulator]... -- CASE RANKS: ends with 0, and the emulator has nothing to complain about
passes() {
    name=$1
    shift
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    emulated $options "$comm" "$@"
    ok=0
    [ "$status" = 0 ] || ok=1
    [ ! -s "$dir/err" ] || ok=1
    result $ok "$name"
}

# fails STATUS PATTERN NAME [OPTION]... -- CASE RANKS: ends with the status and one line that has the pattern
fails() {
    want=$1 pattern=$2 name=$3
    shift 3
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    emulated $options "$comm" "$@"
    ok=0
    [ "$status" = "$want" ] || ok=1
    [ "$(wc -l <"$dir/out")" = 1 ] && grep -q "$pattern" "$dir/out" || ok=1
    [ ! -s "$dir/err" ] || ok=1
    result $ok "$name"
}

for gpus in 1 2 4; do
    for ranks in 2 3 4; do
        passes "$ranks ranks on $gpus GPUs" --gpus $gpus --seed $((gpus + ranks)) -- sums $ranks
    done
done
passes "3 ranks on 2 GPUs without peer access" --gpus 2 --option NO_PEER=1 -- sums 3
passes "NCCL over 3 GPUs" --gpus 4 -- nccl 3
grep -q '^nccl estimate ns of bucket 7 = [0-9]*$' "$dir/out"
result $? "NCCL's estimate is a fact of the bucket"
passes "NCCL over one GPU" --gpus 1 -- nccl 1
for ranks in 2 3; do
    passes "pieces by NCCL over $ranks GPUs" --gpus 3 --seed $ranks -- pieces $ranks
done
passes "a gang whose last member never comes is woken by an abort" --gpus 2 -- abort 3
passes "an abort drops what waits in NCCL" --gpus 3 -- nccl-abort 3
fails 0 'with NCCL 3 ranks need 3 GPUs; 2 visible.*--ranks 2.*--allreduce ring' "NCCL refuses ranks that share a GPU" \
    --gpus 2 -- refused 3
fails 4 'no NVIDIA driver' "no driver" --option DRIVER_VERSION=0 --option DEVICE_COUNT_ERROR=35 -- sums 2
fails 4 'supports CUDA 12.4.*needs 13.*r580' "a driver that is too old" --option DRIVER_VERSION=12040 \
    --option DEVICE_COUNT_ERROR=35 -- sums 2
fails 4 'stub' "the toolkit's stub" --option DRIVER_VERSION=0 --option DEVICE_COUNT_ERROR=34 -- sums 2
fails 4 'shows no GPU' "no device" --option DEVICE_COUNT_ERROR=100 -- sums 2
CUDA_VISIBLE_DEVICES=7 fails 4 'CUDA_VISIBLE_DEVICES is "7"' "a variable that hides the devices" \
    --option DEVICE_COUNT_ERROR=100 -- sums 2
fails 4 'fabric manager' "no fabric manager" --option DEVICE_COUNT_ERROR=802 -- sums 2
fails 4 'different versions' "library and kernel module of two versions" --option DEVICE_COUNT_ERROR=803 -- sums 2
fails 3 'rank . on GPU .: cudaMalloc failed: .*smaller --batch' "no memory for a pair's test" \
    --gpus 2 --fault cudaMalloc:7:2 -- fails 2
fails 3 'GPU 0: cudaDeviceEnablePeerAccess failed' "peer access that fails" \
    --gpus 2 --fault cudaDeviceEnablePeerAccess:1:217 -- fails 2
fails 3 'rank 1 on GPU 1: cudaMemcpyPeerAsync failed' "a pair's copy that fails" \
    --gpus 2 --fault cudaMemcpyPeerAsync:1:700 -- fails 2
passes "all is well without these" --gpus 2 -- fails 2
done_testing
