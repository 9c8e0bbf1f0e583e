// y[i] = x[i], i = 0 … n − 1, float32, in nine orders and widths
//
// The same bytes move in every kernel; kernels differ in the elements that the lanes of a warp move
// together, and so in the number of 32-byte sectors per request. Each is launched with at least one
// thread for each element (or vector of elements) of any n >= 1, in blocks of any size.

// Consecutive lanes, consecutive words: 4 sectors per request, the least for 128 bytes.
extern "C" __global__ void one_each(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

// Columns of a matrix with `stride` columns, one after the other: lanes are `stride` words apart,
// so a request touches min(stride / 8, 1) sectors per lane. Needs `stride` threads a row.
extern "C" __global__ void by_columns(const float* x, float* y, unsigned int n,
                                      unsigned int stride) {
    unsigned int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int rows = (n + stride - 1) / stride;
    unsigned int i = (t % rows) * stride + t / rows;
    if (t < rows * stride && i < n) y[i] = x[i];
}

// The same with an odd stride and no columns: multiplication by a number that shares no factor
// with n visits every element once. Lanes share sectors unevenly, unlike with aligned strides.
extern "C" __global__ void by_odd_steps(const float* x, float* y, unsigned int n,
                                        unsigned int stride) {
    unsigned int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        unsigned int i = t * stride % n;
        y[i] = x[i];
    }
}

// Two floats per lane: half the requests of one_each, twice the sectors in each.
extern "C" __global__ void pairs(const float* x, float* y, unsigned int n) {
    unsigned int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 1 < n) {
        *reinterpret_cast<float2*>(y + i) = *reinterpret_cast<const float2*>(x + i);
    } else if (i < n) {
        y[i] = x[i];
    }
}

// Four floats per lane, 16 sectors per request; the last lane takes the one to three that are left.
extern "C" __global__ void fours(const float* x, float* y, unsigned int n) {
    unsigned int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(x + i);
    } else {
        for (; i < n; ++i) y[i] = x[i];
    }
}

// one_each, started `offset` elements later and wrapped around: a warp's 128 bytes straddle a fifth
// sector unless the offset is a multiple of 8.
extern "C" __global__ void misaligned(const float* x, float* y, unsigned int n,
                                      unsigned int offset) {
    unsigned int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        unsigned int i = (t + offset) % n;
        y[i] = x[i];
    }
}
