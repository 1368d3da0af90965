#!/bin/sh
# What CUPTI records becomes the trace, each kernel of one op; what it does not is counted and said.
. "${srcdir:-.}/tests/cuda.sh"

set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 4 --ranks 2 \
    --warmup 1 --bucket-mb 0.001 --figure none

# launches STEPS FILE: how many kernels the run of that many steps launched
launches() {
    rm -f calls
    emulated --gpus 2 --option CALLS="$PWD/calls" "$PARPROF" "$@"
    awk '/^(cudaLaunchKernel|cudaLaunchKernelExC|cublasSgemm|cublasGemm|ncclAllReduce|ncclGroupEnd)/ { n += $2 } END { print n }' calls
}
