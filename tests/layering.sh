#!/bin/sh
# Who may include whom, and each foreign library's one door.  HACKING.md explains both.
cd "${srcdir:-.}" || exit 99
if [ -n "$SANITIZED" ]; then
    echo "1..0 # SKIP the same in every build"
    exit 0
fi
rooms='
base:
plan:base
kernels:
profile:base plan/op.h plan/cost.h
sim:base plan profile/trace.h
exec:base plan kernels profile/trace.h profile/clock.h profile/collect.h profile/facts.h
viz:base plan/op.h profile
cli:base plan kernels profile sim exec viz
'
doors='
cairo:viz/draw-cairo*
pango:viz/draw-cairo*
cblas:kernels/cpu/blas.c
cublas:kernels/cuda/*
cublas:exec/cuda/*
cuda:kernels/cuda/*
cuda:exec/cuda/*
cuda:profile/collect-*
cupti:profile/collect-*
nccl:exec/cuda/nccl*
nvtx:profile/collect-*
'
files() {
    find "$1" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.def' \) | sort
}
n=0 bad=0
wrong() {
    bad=$((bad + 1))
    echo "# $1"
}
for room in base plan kernels profile sim exec viz cli; do
    allowed=$(printf '%s\n' "$rooms" | sed -n "s/^$room://p")
    for f in $(files "$room"); do
        for inc in $(sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$f"); do
            n=$((n + 1))
            case " $room $allowed config.h " in
            *" ${inc%%/*} "* | *" $inc "*) ;;
            *) wrong "$f: $room may not include $inc" ;;
            esac
        done
    done
done
for f in main.c $(for room in base plan kernels profile sim exec viz cli; do files "$room"; done); do
    for inc in $(sed -n 's/^[ \t]*#[ \t]*include[ \t]*<\([^>]*\)>.*/\1/p' "$f"); do
        n=$((n + 1))
        known= open=
        for door in $doors; do
            case $inc in
            "${door%%:*}"* | */"${door%%:*}"*)
                known="$known ${door#*:}"
                # shellcheck disable=SC2254
                case $f in
                ${door#*:}) open=1 ;;
                esac
                ;;
            esac
        done
        [ -z "$known" ] || [ -n "$open" ] || wrong "$f: $inc may only be included by$known"
    done
done
echo 1..2
if [ "$n" -gt 0 ] && [ "$bad" -eq 0 ]; then
    echo "ok 1 - $n includes respect the rooms and the doors"
else
    echo "not ok 1 - $bad of $n includes cross a wall"
fi
unlisted=
for t in tests/t-*.c tests/*.sh; do
    name=${t#tests/}
    grep -q "%D%/${name%.c}\\( \\|\$\\)" tests/local.mk || unlisted="$unlisted $t"
done
if [ -z "$unlisted" ]; then
    echo "ok 2 - every test is listed"
else
    echo "not ok 2 - not in tests/local.mk:$unlisted"
fi
[ "$bad" -eq 0 ] && [ -z "$unlisted" ]
