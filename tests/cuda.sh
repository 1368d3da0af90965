# tests/cuda.sh -- sourced by tests of the GPU backend, which run the program as it is built on emulated GPUs.
. "${srcdir:-.}/tests/tap.sh"
builddir=$(dirname "$PARPROF")
if [ ! -e "$builddir/parprof-cuda.so" ]; then
    echo "1..0 # SKIP built without CUDA"
    exit 0
fi
export EMULATOR_DIR="$builddir/tests/cuda-emulator"
LIMIT=${LIMIT:-120} # seconds after which a command hangs

# A sanitized build repeats only what a sanitizer can say something new of: the threads and the memory of the program and its
# module.  Kernels and the stand-ins are not instrumented, and what order allows is the same in every build.
not_sanitized() {
    if [ -n "$SANITIZED" ]; then
        echo "1..0 # SKIP nothing of it is sanitized"
        exit 0
    fi
}

# emulated [OPTION of with-emulator]... COMMAND...: its status, output and messages are kept; status 124: it hung
emulated() {
    timeout -k 5 "$LIMIT" "$srcdir/tests/cuda-emulator/with-emulator" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}
