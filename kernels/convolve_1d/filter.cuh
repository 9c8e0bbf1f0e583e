// The filter in constant memory.
#pragma once

#ifndef RADIUS
#error "the filter's radius is needed at compile time: -DRADIUS=16"
#endif

// 64 KiB of a module can be constant memory, which has a cache of its own and a path on which one
// address serves a whole warp. A kernel cannot write to it. It is filled here, when the module is
// loaded; the host may do that before any launch (cudaMemcpyToSymbol), so for the compiler it is no
// constant.
__constant__ float filter[2 * RADIUS + 1] = {
#include "convolve_1d/filter.inc"
};
