#!/bin/sh
# What the emulator says of programs with known bugs, whatever the order in which it runs things; of clean ones, nothing.
. "${srcdir:-.}/tests/cuda.sh"
not_sanitized
export EMULATOR_KERNELS="$EMULATOR_DIR/libbugs.so"

says() { # says CASE [PATTERN [OPTION=VALUE]]: PATTERN empty or absent: nothing, and exit status 0
    good=0
    for seed in 1 2 3; do
        emulated --gpus 2 --seed $seed ${3:+--option "$3"} "$EMULATOR_DIR/bugs" "$1"
        if [ -z "$2" ]; then
            [ $status = 0 ] && [ ! -s "$dir/err" ] || good=1
        else
            [ $status = 86 ] && grep -q "^emulator: .*$2" "$dir/err" || good=1
        fi
        [ $good = 0 ] || break
    done
    result $good "$1${3:+ with $3}: ${2:-nothing}"
}

says clean
says lanes
says unwritten
says limits
says peer
says clean 'race: nothing orders put on stream .*writes.* scale on stream .*reads' drop_wait=1
says missing-wait 'race: nothing orders put on stream .*writes.* scale on stream .*reads'
says early-record 'race: nothing orders put on stream .*writes.* scale on stream .*reads'
says copy-race 'race: nothing orders copy HtoD on stream .*writes.* scale'
says read-then-write 'race: nothing orders scale on stream .*reads.* set on stream .*writes'
says legacy 'race: nothing orders copy HtoD on stream .*writes.* scale'
says unrecorded 'never recorded'
says no-barrier 'race in sum: .*shared memory'
says same-place 'race in same_place: a thread writes what .* wrote'
says blocks 'race in blocks_meet: .*block'
says half-barrier 'divergence in half_barrier'
says half-shuffle 'divergence in half_shuffle'
says two-places 'divergence in two_places'
says misaligned 'misaligned access in vectors: .*bugs.cu'
says beyond 'put on device 0 writes 4 bytes at .*no live memory of device 0'
says beyond-shared 'reverse writes shared memory at byte 1024, of 1024'
says freed 'put on device 0 writes 4 bytes at .*no live memory of device 0'
says host-memory 'put on device 0 writes 4 bytes at .*no memory of a device'
says other-device 'put on device 0 writes 4 bytes at .*no peer access'
says wrong-stream 'put is launched on a stream of device 0 while device 1 is current'
says wrong-event 'an event of device 0 on a stream of device 1'
says double-free 'cudaFree of .*no live memory'
says dead-stream 'no longer, one'
says leak 'leak: 1 blocks of device 0, 1000 bytes'
done_testing
