// The filter in constant memory.
#pragma once

#ifndef RADIUS
#error "the filter's radius is needed at compile time: -DRADIUS=16"
#endif

// A module can have 64 KiB of constant memory, which has its own cache and a path on which one
// address serves a whole warp. A kernel cannot write to it. It is filled here, when the module is
// loaded; because the host may change it before any launch (cudaMemcpyToSymbol), the compiler does
// not treat it as constant.
__constant__ float filter[2 * RADIUS + 1] = {
#include "convolve_1d/filter.inc"
};
