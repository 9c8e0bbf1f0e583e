// What all histograms start with.
#pragma once

constexpr unsigned int BINS = 256;

// One block; the blocks of the next launch add to these.
extern "C" __global__ void zero(int* output) {
    for (unsigned int b = threadIdx.x; b < BINS; b += blockDim.x) output[b] = 0;
}
