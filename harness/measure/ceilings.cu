// The machine's maximum rates: small kernels that do one thing and nothing else. A variant's result
// is compared with the figure from the same run, on the same clocks, instead of a data sheet's. A
// variant above its ceiling is a measurement error.
//
// A ceiling is the best rate that was found, not the best possible. Measure each kernel with
// several blocks (256, 512, 1024) and grids, and take the highest. The buffers must be several
// times as large as the L2 cache; otherwise part of the result is the cache's.
//
//   read_4_in_flight: grid sm_count * (2048 // block), args [input, count, sink]
//   read_8_in_flight: grid sm_count * (1024 // block), args [input, count, sink]
//   copy_bandwidth:   grid sm_count * (2048 // block), args [input, output, count]
//   copy_once:        grid ceil_div(count, block), args [input, output, count]
//   fma_rate:         grid sm_count * (2048 // block), args [sink, iterations, scale, offset]
//   l2_bandwidth:     grid sm_count * (1024 // block), args [input, count, passes, sink]
//   shared_bandwidth: grid sm_count * (2048 // block), args [sink, iterations], shared 16 * block
//   fp64_rate:        as fma_rate
//   fp16_rate:        as fma_rate
//   tensor_rate:      grid sm_count * (2048 // block), args [sink, iterations, a_bits, b_bits]
//   tensor_tf32_rate: as tensor_rate
//   tensor_bf16_rate: as tensor_rate
//   exponential_rate: grid sm_count * (2048 // block), args [sink, iterations, start]
//
// Any other grid is correct too. input and output are 16-byte aligned; count is their length in
// float4, up to 2^30; sink is one float, which is never written. Other proportions of reading to
// writing are in ceiling_mixes.cu, Hopper's own tensor-core instruction in ceiling_wgmma.cu.

#include <cuda_fp16.h>

// The shortest possible kernel: grid 1, block 1, no arguments. Its time between two events is the
// cost of a launch that does nothing; no kernel can be timed below it.
extern "C" __global__ void empty() {}

// Hazard: if a result is unused, the compiler may drop the loads or the arithmetic that led to it.
// So the result is compared with a value that the arithmetic cannot give, a NaN with a payload (the
// GPU's own NaN is 0x7fffffff): the compiler cannot know, and no store is ever issued.
__device__ __forceinline__ void keep(float x, float* sink) {
    if (__float_as_uint(x) == 0x7fc0beefu) *sink = x;
}

__device__ __forceinline__ float sum(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

// Reads input once: 16 * count bytes. Each thread has `in_flight` independent 128-bit loads in
// flight before it uses the first; consecutive threads read consecutive float4.
template <unsigned int in_flight, typename Use>
__device__ __forceinline__ void read_tiles(const float4* input, unsigned int count, Use use) {
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
            use(first + k * blockDim.x + threadIdx.x, loaded[k]);
        }
    }
    // The incomplete last tile, which exactly one block reaches.
    for (unsigned int i = first + threadIdx.x; i < count; i += blockDim.x) {
        use(i, input[i]);
    }
}

template <unsigned int in_flight>
__device__ __forceinline__ void read(const float4* input, unsigned int count, float* sink) {
    float x = 0.0f;
    read_tiles<in_flight>(input, count, [&](unsigned int, float4 v) { x += sum(v); });
    keep(x, sink);
}

extern "C" __global__ void read_4_in_flight(const float4* input, unsigned int count, float* sink) {
    read<4>(input, count, sink);
}

// More bytes in flight per thread, in more registers: half as many threads fit on an SM. The bounds
// request one block of 1024 per SM and so allow 64 registers; without them ptxas uses 32, with
// which it cannot keep eight loads in flight.
extern "C" __global__ void __launch_bounds__(1024, 1)
read_8_in_flight(const float4* input, unsigned int count, float* sink) {
    read<8>(input, count, sink);
}

// Reads and writes: 32 * count bytes. Slower than reading alone in bytes per second, because the
// memory has to switch between reads and writes; it is the ceiling of kernels that do both
// equally.
extern "C" __global__ void copy_bandwidth(const float4* input, float4* output,
                                          unsigned int count) {
    read_tiles<4>(input, count, [=](unsigned int i, float4 v) { output[i] = v; });
}

// The same with one float4 per thread and a thread for every float4: no loop, and blocks end and
// begin all the time, so the reads of some overlap the writes of others. On an H200 this copies
// 4.29 TB/s, where the kernel above copies 3.98.
extern "C" __global__ void copy_once(const float4* input, float4* output, unsigned int count) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) output[i] = input[i];
}

// Eight chains of one instruction in each thread. They do not depend on each other, so the others
// hide the latency of one even with few warps. The loop is unrolled so that the counter and the
// branch are one instruction in dozens.
template <unsigned int unrolled, typename Start, typename Next, typename Total>
__device__ __forceinline__ void run_chains(float* sink, unsigned int iterations, Start start,
                                           Next next, Total total_of) {
    constexpr unsigned int chains = 8;
    decltype(start(0u)) x[chains];
#pragma unroll
    for (unsigned int c = 0; c < chains; ++c) {
        x[c] = start(threadIdx.x + c);
    }

#pragma unroll unrolled
    for (unsigned int i = 0; i < iterations; ++i) {
#pragma unroll
        for (unsigned int c = 0; c < chains; ++c) {
            x[c] = next(x[c]);
        }
    }

    decltype(total_of(x[0])) total = 0;
#pragma unroll
    for (unsigned int c = 0; c < chains; ++c) {
        total += total_of(x[c]);
    }
    keep(static_cast<float>(total), sink);
}

// FP32 fused multiply-adds and almost nothing else:
//     flops = grid * block * iterations * 8 chains * 2
// Give iterations a multiple of 16, and enough of them for about a millisecond; scale = 0.5 and
// offset = 1 keep every value normal (they tend to 2).
extern "C" __global__ void fma_rate(float* sink, unsigned int iterations, float scale,
                                    float offset) {
    run_chains<16>(
        sink, iterations, [](unsigned int i) { return static_cast<float>(i); },
        [=](float x) { return fmaf(x, scale, offset); }, [](float x) { return x; });
}

// Reads input over and over: 16 * count * passes bytes. For the L2 cache: input is a fraction of
// it, small enough to stay there even if the cache keeps a copy in each of two halves, so every
// pass but the first finds all of it. With 256 passes, the first one is negligible. count has to be
// a multiple of 4 * grid * block: the remainder is not read.
//
// Hazard: L1 would serve a multiprocessor that reads its own part again. ld.global.cg bypasses L1,
// and a block takes its neighbour's part in the next pass.
extern "C" __global__ void l2_bandwidth(const float4* input, unsigned int count,
                                        unsigned int passes, float* sink) {
    constexpr unsigned int in_flight = 4;
    const unsigned int stride = gridDim.x * blockDim.x;
    unsigned int part = blockIdx.x;
    float x = 0.0f;

    for (unsigned int pass = 0; pass < passes; ++pass) {
        const float4* mine = input + part * blockDim.x + threadIdx.x;
        for (unsigned int first = 0; first + in_flight * stride <= count;
             first += in_flight * stride) {
            float4 loaded[in_flight];
#pragma unroll
            for (unsigned int k = 0; k < in_flight; ++k) {
                loaded[k] = __ldcg(mine + first + k * stride);
            }
#pragma unroll
            for (unsigned int k = 0; k < in_flight; ++k) {
                x += sum(loaded[k]);
            }
        }
        part = part + 1 == gridDim.x ? 0 : part + 1;
    }
    keep(x, sink);
}

// Loads from shared memory, 128 bits per thread, without bank conflicts:
//     bytes = grid * block * iterations * 4 loads * 16
// A warp's load is 512 consecutive bytes: four wavefronts of 128, the full width of the banks. The
// block is a multiple of 128; dynamic shared memory is 16 bytes per thread.
//
// Hazard: loading the same address in every iteration is one load. nvcc keeps a volatile assembly
// instruction, but ptxas still drops an ld.shared that repeats another; it keeps ld.volatile.
// Loaded values are used only after the loop, so no arithmetic separates two loads.
extern "C" __global__ void shared_bandwidth(float* sink, unsigned int iterations) {
    extern __shared__ float4 words[];
    constexpr unsigned int loads = 4;
    words[threadIdx.x] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
    __syncthreads();

    unsigned int address[loads];
    float4 loaded[loads];
#pragma unroll
    for (unsigned int k = 0; k < loads; ++k) {
        const unsigned int other = (threadIdx.x + 32 * k) % blockDim.x;
        address[k] = static_cast<unsigned int>(__cvta_generic_to_shared(&words[other]));
        loaded[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll 4
    for (unsigned int i = 0; i < iterations; ++i) {
#pragma unroll
        for (unsigned int k = 0; k < loads; ++k) {
            asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(loaded[k].x), "=f"(loaded[k].y), "=f"(loaded[k].z),
                           "=f"(loaded[k].w)
                         : "r"(address[k]));
        }
    }

    float x = 0.0f;
#pragma unroll
    for (unsigned int k = 0; k < loads; ++k) {
        x += sum(loaded[k]);
    }
    keep(x, sink);
}

// FP64 fused multiply-adds: flops = grid * block * iterations * 8 chains * 2. As fma_rate; give
// iterations a multiple of 8.
extern "C" __global__ void fp64_rate(float* sink, unsigned int iterations, double scale,
                                     double offset) {
    run_chains<8>(
        sink, iterations, [](unsigned int i) { return static_cast<double>(i); },
        [=](double x) { return fma(x, scale, offset); }, [](double x) { return x; });
}

// FP16 fused multiply-adds, two per instruction (half2):
//     flops = grid * block * iterations * 8 chains * 4
// Give iterations a multiple of 16. scale = 1 and offset = 1 are safe in half precision too: the
// values stop growing at 2048, where adding 1 rounds back.
//
// Hazard: a pair of equal halves is read as one half twice, which only one of the two half2 pipes
// can do, so the rate is halved. So scale and offset are paired with each other; the compiler does
// not know that they are equal.
extern "C" __global__ void fp16_rate(float* sink, unsigned int iterations, float scale,
                                     float offset) {
    const __half2 a = __floats2half2_rn(scale, offset);
    const __half2 b = __floats2half2_rn(offset, scale);
    run_chains<16>(
        sink, iterations, [](unsigned int i) { return __float2half2_rn(static_cast<float>(i)); },
        [=](__half2 x) { return __hfma2(x, a, b); },
        [](__half2 x) { return __low2float(x) + __high2float(x); });
}

// Base-2 exponentials on the special function unit, which exp() also uses:
//     exponentials = grid * block * iterations * 8 chains
// x = 2^-x tends to 0.64 from any start; the sign is changed by the instruction itself.
// Without ftz it would be four instructions, which scale subnormals. Give iterations a
// multiple of 16.
extern "C" __global__ void exponential_rate(float* sink, unsigned int iterations, float start) {
    run_chains<16>(
        sink, iterations, [=](unsigned int i) { return start + static_cast<float>(i); },
        [](float x) {
            float power;
            asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-x));
            return power;
        },
        [](float x) { return x; });
}

#if __CUDA_ARCH__ >= 800  // the first architecture that has this shape
// Matrix multiply-adds on the tensor cores, FP16 in and FP32 out, 16 x 8 x 16 per warp:
//     flops = grid * (block / 32) * iterations * 4 chains * 2 * 16 * 8 * 16
// a_bits and b_bits are two halves each (0x3c003c00 is 1, 1) for all elements of A and of B, which
// stay in registers: only the rate of the instruction is measured. The four accumulators do not
// depend on each other; with ones, each grows by 16 per iteration, exactly up to 2^20 iterations.
//
// Hazard: operands of zero bits switch fewer transistors, draw less power and so run at higher
// clocks than a real product would. Give ones.
//
// Compiled kernels use mma.sync from sm_80 on. Hopper's warpgroup instructions (wgmma), which read
// shared memory, are faster still: ceiling_wgmma.cu measures those.
enum Type { fp16, bf16, tf32 };

template <Type type>
__device__ __forceinline__ void multiply_add(float (&d)[4], unsigned int a, unsigned int b) {
    if (type == tf32) {
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a), "r"(b));
    } else if (type == bf16) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a), "r"(b));
    } else {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a), "r"(b));
    }
}

template <Type type>
__device__ __forceinline__ void multiply_matrices(float* sink, unsigned int iterations,
                                                  unsigned int a_bits, unsigned int b_bits) {
    constexpr unsigned int chains = 4;
    float d[chains][4];
#pragma unroll
    for (unsigned int c = 0; c < chains; ++c) {
#pragma unroll
        for (unsigned int k = 0; k < 4; ++k) {
            d[c][k] = static_cast<float>(threadIdx.x + c + k);
        }
    }

#pragma unroll 8
    for (unsigned int i = 0; i < iterations; ++i) {
#pragma unroll
        for (unsigned int c = 0; c < chains; ++c) {
            multiply_add<type>(d[c], a_bits, b_bits);
        }
    }

    float total = 0.0f;
#pragma unroll
    for (unsigned int c = 0; c < chains; ++c) {
#pragma unroll
        for (unsigned int k = 0; k < 4; ++k) {
            total += d[c][k];
        }
    }
    keep(total, sink);
}

extern "C" __global__ void tensor_rate(float* sink, unsigned int iterations, unsigned int a_bits,
                                       unsigned int b_bits) {
    multiply_matrices<fp16>(sink, iterations, a_bits, b_bits);
}

// The same for bfloat16, in which the bits of half-precision ones are a number near 0.0078.
extern "C" __global__ void tensor_bf16_rate(float* sink, unsigned int iterations,
                                            unsigned int a_bits, unsigned int b_bits) {
    multiply_matrices<bf16>(sink, iterations, a_bits, b_bits);
}

// The same for floats that are rounded to TF32, in matrices half as deep: 16 x 8 by 8 x 8.
extern "C" __global__ void tensor_tf32_rate(float* sink, unsigned int iterations,
                                            unsigned int a_bits, unsigned int b_bits) {
    multiply_matrices<tf32>(sink, iterations, a_bits, b_bits);
}
#endif
