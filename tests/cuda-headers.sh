#!/bin/sh
# What the stand-ins for NVIDIA's headers declare is what the real ones declare: constants, types, fields, functions.
. "${srcdir:-.}/tests/tap.sh"
build=$(dirname "$PARPROF")/tests/cuda-emulator
if [ ! -x "$build/agree-real" ]; then
    echo "1..0 # SKIP not built with NVIDIA's headers"
    exit 0
fi
"$build/agree-stand-in" >"$dir/stand-in"
"$build/agree-real" >"$dir/real"
if ! grep -q '^constant' "$dir/real"; then
    echo "1..0 # SKIP $(head -n 1 "$dir/real")"
    exit 0
fi
[ "$(grep -c . "$dir/stand-in")" -gt 600 ]
result $? "the stand-ins declare what is used"
diff "$dir/stand-in" "$dir/real" | sed 's/^/# /' >"$dir/differences"
head -50 "$dir/differences"
[ ! -s "$dir/differences" ]
result $? "as the real headers do"
done_testing
