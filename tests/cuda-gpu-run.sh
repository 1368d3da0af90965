#!/bin/sh
# tests/gpu/run, the check for machines with GPUs, on an emulated one, out of the bundle where this tree can make it: all
# sections are right; one that fails, or whose program is missing, fails the whole and stops no other.
. "${srcdir:-.}/tests/cuda.sh"
LIMIT=300
not_sanitized

if "$srcdir/tests/gpu/bundle" "$builddir" >"$dir/out" 2>"$dir/err"; then
    bundle=$builddir/gpu-bundle
    grep -q '^gpu-bundle: [0-9.]* MiB$' "$dir/out" && ! ls "$bundle/lib" | grep -q 'libcu\|libnccl\|libc\.so'
    result $? "a bundle without the libraries of CUDA and C"
    env -u LD_LIBRARY_PATH ldd "$bundle/parprof" >"$dir/out" 2>"$dir/err"
    ! grep -q 'not found' "$dir/out" && grep '=> /' "$dir/out" | grep -v "=> $bundle/lib/" >"$dir/err"
    ! grep -v 'lib\(c\|m\|dl\|rt\|pthread\)\.so' "$dir/err" >"$dir/out"
    result $? "its program needs no library but the C library's and its own"
else
    bundle=bundle
    mkdir bundle
    ln -s "$PARPROF" "$builddir/parprof-cuda.so" "$builddir/tests/gpu/kernels" "$builddir/tests/gpu/records" bundle/
    cp "$srcdir/tests/gpu/run" bundle/
    grep -q 'no code for GPUs' "$dir/err"
    result $? "no bundle without code for GPUs"
fi

sections='doctor libraries kernels numbers.of.DDP CUPTI a.traced.run step cost.of.tracing PyTorch.s.step DDP,.overlap under.nsys compute-sanitizer all'
check_rows() { # each section has a row
    for section in $sections; do
        grep -q "^$section" "$1" || { echo "no row of $section" >>"$dir/err" && return 1; }
    done
}

emulated --gpus 1 "$bundle/run" --smoke out
cp out/table.txt table
[ "$status" = 0 ] && check_rows table && ! grep -q FAIL table && grep -q 'SendRecv' table && grep -q '^# emulated GPUs' table
result $? "the short check on one GPU"
missing=
for file in table.txt log.txt doctor.txt report-mini.json trace-mini.json report-bert-base.json report-untraced.json trace-bert-base.json.gz; do
    [ -s "out/$file" ] || missing="$missing $file"
done
[ -z "$missing" ] && [ "$(ls out | wc -l)" = 8 ]
result $? "eight files$missing"
! cut -d' ' -f1-99 table | grep -q '20[0-9][0-9]-[0-9][0-9]'
result $? "a table without a date"

# The collector is refused, a program is missing, another's test fails: three sections.
mkdir broken
for part in "$bundle"/*; do
    case ${part##*/} in
    kernels | records) ;;
    *) ln -s "$(cd "$(dirname "$part")" && pwd)/${part##*/}" broken/ ;;
    esac
done
rm broken/run
cp "$srcdir/tests/gpu/run" broken/
printf '#!/bin/sh\necho "ok 1 - one"\necho "not ok 2 - two"\nexit 1\n' >broken/kernels
chmod +x broken/kernels
emulated --gpus 1 --option CUPTI=refuse:35 broken/run --smoke out
[ "$status" = 1 ] && check_rows out/table.txt && grep -q '^kernels  *FAIL .*not ok 2 - two' out/table.txt &&
    grep -q '^CUPTI  *FAIL  *missing.*records' out/table.txt && grep -q '^a traced run  *FAIL .*35' out/table.txt &&
    grep -q '^numbers of DDP  *ok' out/table.txt && grep -q '^DDP, overlap backward  *ok' out/table.txt
result $? "what fails is said, and stops nothing else"

timeout 60 "$bundle/run" --smoke out >"$dir/out" 2>"$dir/err"
status=$?
if grep -q '^doctor  *ok' out/table.txt; then
    skip "without a GPU everything fails" "there is one"
else
    [ "$status" = 1 ] && check_rows out/table.txt && ! grep -q '^\(numbers of\|step\|DDP\|kernels\|CUPTI\|a traced\).* ok ' out/table.txt
    result $? "without a GPU everything fails"
fi
done_testing
