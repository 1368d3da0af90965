#!/bin/sh
# Every kernel against the CPU's reference, on an emulated GPU that checks accesses, alignment and races.
. "${srcdir:-.}/tests/cuda.sh"
not_sanitized
timeout -k 5 900 "$srcdir/tests/cuda-emulator/with-emulator" --gpus 1 "$builddir/tests/gpu/kernels" --short
