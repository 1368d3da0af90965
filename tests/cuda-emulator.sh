#!/bin/sh
# The stand-ins for the CUDA libraries themselves: what they compute, and what they complain about.
. "${srcdir:-.}/tests/cuda.sh"
not_sanitized

# says STATUS PATTERN CASE [OPTION]...: the self-test's case ends so; the emulator's complaint has the pattern (empty: none)
says() {
    want=$1 pattern=$2 name=$3
    shift 3
    emulated "$@" "$builddir/tests/cuda-emulator/selftest" "$name"
    ok=0
    [ "$status" = "$want" ] || ok=1
    if [ -n "$pattern" ]; then
        grep -q "^emulator: .*$pattern" "$dir/err" || ok=1
    else
        [ ! -s "$dir/err" ] || ok=1
    fi
    result $ok "$name${1:+ $*}"
}

for seed in 1 2 3; do
    says 0 '' products --seed $seed
    says 0 '' collectives --gpus 3 --seed $seed
done
says 0 '' rendezvous --gpus 3
says 0 '' in_order --gpus 3
says 0 '' crossed --gpus 3
says 0 '' duplicate
says 0 '' aborted --gpus 3
says 0 '' records
says 0 '' bad_records --option 'CUPTI=drop:5,zero:7,invert:11'
says 0 '' withheld --option CUPTI=withhold
says 0 '' refused --option CUPTI=refuse:39
says 0 '' alone
says 86 'no workspace' no_workspace --option NO_LEAKS=1
says 86 'race\|unordered\|conflict' shared_workspace --option NO_LEAKS=1
says 86 'leak.*cuBLAS' leaked_handle
says 86 'rank 1 issues AllReduce of 9' uneven --gpus 3
says 86 'rank 1 issues SendRecv of 9' unequal --gpus 3
says 86 'race: .*SendRecv' unordered --gpus 3
says 86 'the first SendRecv .* while .*SendRecv.* is pending' unconnected --gpus 3
says 86 'wait on device 0 take 160 multiprocessors, of 132' crowded
says 86 'collective' pending_allocation --gpus 3 --option NO_LEAKS=1
says 86 'pushed and not popped' unbalanced
done_testing
