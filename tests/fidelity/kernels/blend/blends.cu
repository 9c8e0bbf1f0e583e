// y[i] = weight[r] point[r], points of four floats, weights in double precision, r = i mirrored in
// its tile of 128; three layouts of two arrays in one dynamic shared allocation
//
// Launch: block 128, grid ceil_div(n, 128), 24 * 128 bytes of dynamic shared memory. 8- and 16-byte
// accesses are served in phases of 16 and 8 lanes, each of which can have bank conflicts.

// Writes tile and weights at slot(t), reads them back at slot(mirrored t).
template <typename Slot>
__device__ __forceinline__ void mirror(const float4* point, const double* weight, float4* y,
                                       unsigned int n, Slot slot) {
    extern __shared__ float4 points[];
    double* weights = reinterpret_cast<double*>(points + blockDim.x);
    unsigned int first = blockIdx.x * blockDim.x, t = threadIdx.x;
    unsigned int there = min(blockDim.x, n - first);
    if (t < there) {
        points[slot(t)] = point[first + t];
        weights[slot(t)] = weight[first + t];
    }
    __syncthreads();
    if (t < there) {
        float4 p = points[slot(there - 1 - t)];
        double w = weights[slot(there - 1 - t)];
        y[first + t] = make_float4(p.x * w, p.y * w, p.z * w, p.w * w);
    }
}

// Neighbours in neighbouring slots: 8 lanes of 16 bytes, or 16 of 8, fill the 32 banks once.
extern "C" __global__ void in_order(const float4* point, const double* weight, float4* y,
                                    unsigned int n) {
    mirror(point, weight, y, n, [](unsigned int t) { return t; });
}

// Neighbours 16 slots apart: all lanes of a phase in the same four (or two) banks.
extern "C" __global__ void sixteen_apart(const float4* point, const double* weight, float4* y,
                                         unsigned int n) {
    mirror(point, weight, y, n, [](unsigned int t) { return t % 8 * 16 + t / 8; });
}

// Neighbours 3 slots apart: odd, so without conflicts at any width. 43 · 3 = 129 wraps to 1, and
// 3 shares no factor with 128: every slot is used once.
extern "C" __global__ void three_apart(const float4* point, const double* weight, float4* y,
                                       unsigned int n) {
    mirror(point, weight, y, n, [](unsigned int t) { return t * 3 % 128; });
}
