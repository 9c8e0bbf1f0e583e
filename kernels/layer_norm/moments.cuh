// Count, mean, and sum of squared distances from the mean, in one pass and without cancellation.
#pragma once

// The obvious one-pass formula, mean of x² minus square of mean, subtracts two numbers that are
// nearly equal if the mean is far from 0; in float32 it may give a negative variance. Here
// everything stays relative to the mean so far.
//
// From: B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products"
// (1962); the merging of two is due to Chan, Golub and LeVeque (1979).
struct Moments {
    float count = 0.0f;
    float mean = 0.0f;
    float squares = 0.0f;  // Σ (x - mean)²
};

__device__ __forceinline__ Moments with(Moments m, float x) {
    const float count = m.count + 1.0f;
    const float d = x - m.mean;
    const float mean = m.mean + d / count;
    return {count, mean, m.squares + d * (x - mean)};
}

__device__ __forceinline__ Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count;
    const float share = count > 0.0f ? b.count / count : 0.0f;  // two empty ones stay empty
    const float d = b.mean - a.mean;
    return {count, a.mean + d * share, a.squares + b.squares + d * d * a.count * share};
}

// Every lane of a full warp calls this and gets the moments of all lanes.
__device__ __forceinline__ Moments warp_all(Moments m) {
#pragma unroll
    for (unsigned int bit = 16; bit > 0; bit /= 2) {
        m = merge(m, {__shfl_xor_sync(0xffffffffu, m.count, bit),
                      __shfl_xor_sync(0xffffffffu, m.mean, bit),
                      __shfl_xor_sync(0xffffffffu, m.squares, bit)});
    }
    return m;
}

// Every thread of a one-dimensional block calls this, once in a kernel, and gets the moments of all
// threads. blockDim.x is a multiple of 32 up to 1024.
__device__ __forceinline__ Moments block_all(Moments m) {
    __shared__ float counts[32], means[32], squares[32];
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int warp = threadIdx.x / 32;

    m = warp_all(m);
    if (lane == 0) {
        counts[warp] = m.count;
        means[warp] = m.mean;
        squares[warp] = m.squares;
    }
    __syncthreads();
    return warp_all(lane < blockDim.x / 32 ? Moments{counts[lane], means[lane], squares[lane]}
                                           : Moments{});
}
