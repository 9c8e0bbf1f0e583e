// Which boxes overlap which, as bits: the first step of every variant.
//
// Word w of row i of the mask marks those of boxes 64 w .. 64 w + 63 that box i suppresses if it is
// kept: those after it, with a lower score, whose intersection with it exceeds `threshold` of the
// union. Words below the diagonal would be 0; they are neither written nor read.
//
// Contract: any 1 <= n < 2^22; a block of 64 threads; a grid of (ceil(n / 64), ceil(n / 64)). A
// block compares 64 boxes with 64 others, one row of pairs per thread. boxes are x1, y1, x2, y2 and
// begin on a 16-byte boundary.
//
// From: the GPU version of Faster R-CNN's non-maximum suppression (2015).
#pragma once

__device__ __forceinline__ float area(float4 box) {
    return (box.z - box.x) * (box.w - box.y);
}

// Without a division, which would give NaN for two empty boxes.
__device__ __forceinline__ bool overlap(float4 a, float4 b, float threshold) {
    const float width = fmaxf(fminf(a.z, b.z) - fmaxf(a.x, b.x), 0.0f);
    const float height = fmaxf(fminf(a.w, b.w) - fmaxf(a.y, b.y), 0.0f);
    const float both = width * height;
    return both > threshold * (area(a) + area(b) - both);
}

extern "C" __global__ void overlaps(const float4* boxes, unsigned long long* mask, unsigned int n,
                                    float threshold) {
    if (blockIdx.x < blockIdx.y) return;  // a whole block, below the diagonal
    __shared__ float4 others[64];
    const unsigned int first = blockIdx.x * 64, row = blockIdx.y * 64 + threadIdx.x;
    if (first + threadIdx.x < n) others[threadIdx.x] = boxes[first + threadIdx.x];
    __syncthreads();
    if (row >= n) return;

    const float4 box = boxes[row];
    const unsigned int count = min(64u, n - first);
    unsigned long long bits = 0;
    for (unsigned int i = 0; i < count; i++) {
        if (first + i > row && overlap(box, others[i], threshold)) bits |= 1ull << i;
    }
    mask[static_cast<size_t>(row) * gridDim.x + blockIdx.x] = bits;
}
