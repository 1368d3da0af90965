#!/bin/sh
# doctor on this machine, whatever it has: every layer a line, a reason and what to do where one is bad.
. "${srcdir:-.}/tests/tap.sh"

# has LAYER VERDICT PATTERN: whether the layer's line says so
has() {
    grep -Eq "^$1 +$2 +$3" "$dir/out"
}

run doctor
if [ ! -e "$(dirname "$PARPROF")/parprof-cuda.so" ]; then
    [ "$status" = 4 ] && grep -q 'no CUDA module.*--with-cuda' "$dir/err"
    result $? "without the module: status 4, and how to build it"
    done_testing
    exit
fi
if [ "$status" = 4 ] && grep -q 'cannot open the CUDA module' "$dir/err"; then
    grep -q 'LD_LIBRARY_PATH' "$dir/err"
    result $? "without the libraries: status 4, and where they are looked for"
    done_testing
    exit
fi
[ ! -s "$dir/err" ] && ! grep -Evq '^[A-Za-z0-9 -]{1,14} +(good|BAD|untried) +[^ ].*' "$dir/out"
result $? "every line is a layer, a verdict and words; nothing on stderr"
has module good 'code for (sm_|the emulator only)' && has 'CUDA runtime' good '1[0-9]\.[0-9]' && has cuBLAS good '1[0-9]\.' &&
    has NCCL good '2\.' && has CUPTI good '.*[0-9]'
result $? "libraries tell their versions without a driver"
order=$(awk '{ print substr($0, 1, 14) }' "$dir/out" | sed 's/ *$//; s/^GPU [0-9]*$/GPUs/' | uniq | paste -sd,)
[ "$order" = "module,CUDA runtime,cuBLAS,NCCL,CUPTI,driver,GPUs,peer access,kernels,CUPTI tracing,traced kernel,all-reduce" ]
result $? "layers stand in the order in which they carry each other"
if has driver good ''; then
    [ "$status" = 0 ] || grep -q ' BAD ' "$dir/out"
    result $? "with a driver: the status is that of the layers above"
else
    has driver BAD '.*(install|unset|start|reboot|take|look)'
    result $? "the driver's line says what to do"
    [ "$status" = 4 ] && [ "$(grep -c ' untried  needs the driver$' "$dir/out")" = 6 ]
    result $? "what needs the driver is untried, and the status 4"
    run run --mode ddp --backend cuda
    [ "$status" = 4 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'driver\|GPU' "$dir/err"
    result $? "a run on GPUs ends with status 4 and one line"
fi
done_testing
