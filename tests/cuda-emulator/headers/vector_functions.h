/* tests/cuda-emulator/headers/vector_functions.h: see vector_types.h. */
#ifndef STAND_IN_VECTOR_FUNCTIONS_H
#define STAND_IN_VECTOR_FUNCTIONS_H

#include <vector_types.h>

static inline float2 make_float2(float x, float y)
{
    float2 v = {x, y};
    return v;
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    float4 v = {x, y, z, w};
    return v;
}

#endif
