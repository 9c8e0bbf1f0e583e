// What the machine can do at best: small kernels that do one thing and nothing else. A result of a
// measured variant is put beside the figure of the same run, on the same clocks, instead of beside
// a data sheet's. A variant above its ceiling is an error of measurement.
//
// A ceiling is the best that was found, not the best there is. Measure each kernel with several
// blocks (256, 512, 1024) and grids, and take the highest. The buffers have to be several times
// the L2 cache, or part of what is measured is the cache.
//
//   read_4_in_flight: grid sm_count * (2048 // block), args [input, count, sink]
//   read_8_in_flight: grid sm_count * (1024 // block), args [input, count, sink]
//   copy_bandwidth:   grid sm_count * (2048 // block), args [input, output, count]
//   fma_rate:         grid sm_count * (2048 // block), args [sink, iterations, scale, offset]
//
// Any other grid is correct too. input and output are 16-byte aligned; count is their length in
// float4, up to 2^30; sink is one float, which is never written.

// Hazard: a result that nobody uses lets the compiler drop the loads or the arithmetic that led to
// it. So the result is compared with a value that the arithmetic cannot have, a NaN with a payload
// (the GPU's own NaN is 0x7fffffff): the compiler does not know, and no store is ever issued.
__device__ __forceinline__ void keep(float x, float* sink) {
    if (__float_as_uint(x) == 0x7fc0beefu) *sink = x;
}

__device__ __forceinline__ float sum(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

// Reads input once: 16 * count bytes. Each thread has `in_flight` independent 128-bit loads under
// way before it uses the first; consecutive threads read consecutive float4.
template <unsigned int in_flight>
__device__ __forceinline__ void read(const float4* input, unsigned int count, float* sink) {
    const unsigned int tile = in_flight * blockDim.x;
    float x = 0.0f;

    unsigned int first = blockIdx.x * tile;
    for (; first + tile <= count; first += gridDim.x * tile) {
        float4 loaded[in_flight];
#pragma unroll
        for (unsigned int k = 0; k < in_flight; ++k) {
            loaded[k] = input[first + k * blockDim.x + threadIdx.x];
        }
#pragma unroll
        for (unsigned int k = 0; k < in_flight; ++k) {
            x += sum(loaded[k]);
        }
    }
    // The incomplete last tile, which exactly one block gets to.
    for (unsigned int i = first + threadIdx.x; i < count; i += blockDim.x) {
        x += sum(input[i]);
    }
    keep(x, sink);
}

extern "C" __global__ void read_4_in_flight(const float4* input, unsigned int count, float* sink) {
    read<4>(input, count, sink);
}

// More bytes under way for each thread, in more registers: half as many threads fit on an SM. The
// bounds ask for one block of 1024 an SM and so allow 64 registers; without them ptxas settles for
// 32, and with those it cannot keep eight loads under way.
extern "C" __global__ void __launch_bounds__(1024, 1)
read_8_in_flight(const float4* input, unsigned int count, float* sink) {
    read<8>(input, count, sink);
}

// Reads and writes: 32 * count bytes. Slower than reading alone in bytes a second, because the
// memory has to turn around between reads and writes; it is the ceiling of kernels that do both in
// equal parts.
extern "C" __global__ void copy_bandwidth(const float4* input, float4* output,
                                          unsigned int count) {
    constexpr unsigned int in_flight = 4;
    const unsigned int tile = in_flight * blockDim.x;

    unsigned int first = blockIdx.x * tile;
    for (; first + tile <= count; first += gridDim.x * tile) {
        float4 loaded[in_flight];
#pragma unroll
        for (unsigned int k = 0; k < in_flight; ++k) {
            loaded[k] = input[first + k * blockDim.x + threadIdx.x];
        }
#pragma unroll
        for (unsigned int k = 0; k < in_flight; ++k) {
            output[first + k * blockDim.x + threadIdx.x] = loaded[k];
        }
    }
    // The incomplete last tile, which exactly one block gets to.
    for (unsigned int i = first + threadIdx.x; i < count; i += blockDim.x) {
        output[i] = input[i];
    }
}

// FP32 fused multiply-adds and next to nothing else:
//     flops = grid * block * iterations * 8 chains * 2
// The eight chains of a thread do not depend on each other, so the latency of one is covered by the
// others even with few warps. Give iterations a multiple of 16, and enough of them for about a
// millisecond; scale = 0.5 and offset = 1 keep every value normal (they tend to 2).
extern "C" __global__ void fma_rate(float* sink, unsigned int iterations, float scale,
                                    float offset) {
    constexpr unsigned int chains = 8;
    float x[chains];
#pragma unroll
    for (unsigned int c = 0; c < chains; ++c) {
        x[c] = static_cast<float>(threadIdx.x + c);
    }

    // Unrolled so that the counter and the branch are one instruction in dozens.
#pragma unroll 16
    for (unsigned int i = 0; i < iterations; ++i) {
#pragma unroll
        for (unsigned int c = 0; c < chains; ++c) {
            x[c] = fmaf(x[c], scale, offset);
        }
    }

    float total = 0.0f;
#pragma unroll
    for (unsigned int c = 0; c < chains; ++c) {
        total += x[c];
    }
    keep(total, sink);
}
