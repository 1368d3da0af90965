#!/bin/sh
# Each function of the CUDA libraries that a run calls fails once: one message, the right status, no hang, nothing leaked.
# Every function's 1st, 2nd or last call, in turn; all three with LONG=1; sanitized, every fifth function's.
. "${srcdir:-.}/tests/cuda.sh"
LIMIT=60

# Polled: asked again and again, how often is up to the clock.
polled=' cudaEventQuery cudaStreamQuery ncclCommGetAsyncError cudaGetLastError cudaPeekAtLastError cudaGetErrorString '
# Asked for an opinion or for what is only told: a run goes on without.
spare=' nvml* cu[A-Z]* cudaGetDriverEntryPoint* ncclGroupSimulateEnd ncclGetVersion cuptiGetVersion cublasGetProperty cudaDeviceCanAccessPeer cudaDeviceGetPCIBusId
    cudaDriverGetVersion cudaGetDeviceCount cudaGetDeviceProperties cudaMemGetInfo cudaRuntimeGetVersion '
# A run goes on with times from events, and says so.
traced=' cupti* cudaStreamSynchronize ' # the latter: of the kernel that is launched to see whether it is recorded
# The first are a trial, of CUPTI's tracing or of green contexts: a run goes on and says without what.
tried=' task cudaLaunchKernel '
# The run is over: what it did is written, whether or not this fails.
closing=' cudaFree cudaSetDevice cuGreenCtxDestroy cudaFreeHost cudaStreamDestroy cudaEventDestroy cublasDestroy_v2 ncclCommDestroy ncclCommAbort ncclCommFinalize cuptiUnsubscribe cuptiActivityDisable cuptiFinalize '

among() { # among NAME 'PATTERN...'
    for pattern in $2; do
        # shellcheck disable=SC2254
        case $1 in $pattern) return 0 ;; esac
    done
    return 1
}

error_of() { # an error that the function's library knows
    case $1 in
    cublas*) echo 13 ;;
    nccl*) echo 1 ;;
    cudaMalloc | cudaHostAlloc | cudaMallocHost) echo 2 ;;
    cuda* | task) echo 719 ;;
    *) echo 999 ;;
    esac
}

set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 5 --ranks 2 \
    --warmup 1 --steps 2 --bucket-mb 0.001 --figure none --report r.json --timeout 20

# try GPUS NAME K ARGUMENT...
try() {
    gpus=$1 name=$2 k=$3
    shift 3
    rm -f r.json
    leaks= # what could not be freed is not freed
    among "$name" "$closing" && leaks=1
    emulated --gpus "$gpus" --option NO_LEAKS=$leaks --fault "$name:$k:$(error_of "$name")" "$PARPROF" "$@"
    ok=0
    lines=$(grep -c '^parprof: ' "$dir/err")
    case $status in
    4 | 5)
        [ "$lines" = 1 ] || ok=1
        [ "$status" = 4 ] || grep -q "^parprof: .*$(said "$name")" "$dir/err" || ok=1 # 4: it names the layer
        [ "$status" = 4 ] || among "$name" "$traced" || grep -q 'rank\|GPU\|device' "$dir/err" || ok=1 # CUPTI is of all ranks
        ;;
    0) among "$name" "$spare$traced$closing" ||
        { among "$name" "$tried" && grep -q 'from events\|ranks interleave' "$dir/out"; } || ok=1 ;;
    *) ok=1 ;;
    esac
    if grep -q '^emulator: ' "$dir/err"; then ok=1; fi
    [ $ok = 0 ] || echo "status $status" >>"$dir/err"
    result $ok "call $k of $name fails, $gpus GPUs: status $status"
}

# A message names the call as its user writes it.
said() {
    case $1 in
    cuptiActivityP*) echo 'marks of operations' ;;
    task) echo 'rank' ;; # what a kernel did is found later, by any call
    cublas*) echo 'CUBLAS\|cuBLAS' ;; # kernels call it: its op is named
    *) echo "$1" ;;
    esac
}

turn=0
for gpus in 2 1; do
    rm -f calls
    emulated --gpus $gpus --option CALLS="$PWD/calls" "$PARPROF" "$@"
    [ "$status" = 0 ] && [ -s calls ] && [ ! -s "$dir/err" ]
    result $? "a run on $gpus GPUs without faults"
    [ -s calls ] || break
    [ $gpus = 2 ] && cp calls known
    while read -r name count; do
        among "$name" "$polled" && continue
        [ $gpus = 1 ] && [ -z "$LONG" ] && grep -q "^$name " known && continue # what 2 GPUs call too was tried there
        which=$(printf '%s\n' 1 2 "$count" | awk -v n="$count" '$1 <= n' | sort -nu)
        if [ -z "$LONG" ]; then
            turn=$((turn + 1))
            [ -n "$SANITIZED" ] && [ $((turn % 5)) != 0 ] && continue
            which=$(echo "$which" | awk -v t=$turn '{ line[NR] = $1 } END { print line[t % NR + 1] }')
        fi
        for k in $which; do
            try $gpus "$name" "$k" "$@"
        done
    done <calls
done

# What only pipelines and DataParallel ask of NCCL: the first call, which is a trial, and one of a step.
set -- --backend cuda --model mini --layers 1 --d-model 8 --heads 2 --ff 16 --vocab 20 --seq-len 4 --batch 5 --ranks 2 \
    --warmup 1 --steps 2 --figure none --report r.json --timeout 20
for call in ncclSend:1 ncclSend:12 ncclRecv:1 ncclRecv:12; do
    try 2 "${call%:*}" "${call#*:}" --mode pipeline --chunks 2 "$@"
done
for call in ncclReduce:1 ncclReduce:150 ncclBroadcast:1 ncclBroadcast:150; do
    try 2 "${call%:*}" "${call#*:}" --mode dp "$@"
done
try 2 ncclAllGather 5 --mode pipeline --chunks 2 --clip-grad-norm 1 "$@"
done_testing
