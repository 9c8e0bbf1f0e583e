// Matrix multiply-adds by Hopper's warpgroup instruction, FP16 in and FP32 out, 64 x 128 x 16:
//     flops = grid * (block / 128) * iterations * 8 * 2 * 64 * 128 * 16
// or of bfloat16, or of floats that are rounded to TF32, half as deep: 64 x 128 x 8.
// The maximum rate of the tensor cores of compute capability 9.0: unlike mma.sync (tensor_rate in
// ceilings.cu), it reads both operands from shared memory and runs while the warps continue.
//
//   wgmma_rate, wgmma_bf16_rate, wgmma_tf32_rate: grid a multiple of sm_count, block a multiple of
//                                                 128, args [sink, iterations, ones]
//
// Needs the target sm_90a. `ones` is two halves of value 1 (0x3c003c00), of which both operands
// consist: zero bits would draw less power than a real product, and the layout of a tile in shared
// memory does not matter if all its elements are equal. The accumulators then grow by 16 each time,
// exactly, up to 2^24. As a float, or as two bfloat16, the same bits are a number near 0.0078,
// which serves as well.

// The instruction's descriptor of a tile in shared memory: its address, and the strides between its
// 8 x 16-byte pieces along K (128 bytes) and along M or N (256 bytes), all in units of 16 bytes.
__device__ __forceinline__ unsigned long long describe(const unsigned int* tile) {
    const unsigned long long address = __cvta_generic_to_shared(tile);
    return ((address & 0x3ffff) >> 4) | (128ull >> 4) << 16 | (256ull >> 4) << 32;
}

#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)

// The shape and types of the instruction, and the text after its operands.
#define WGMMA(shape, flags)                                                                        \
    asm volatile(                                                                                  \
        "{ .reg .pred accumulate; setp.eq.u32 accumulate, 0, 0; "                                  \
        "wgmma.mma_async.sync.aligned." shape " "                                                  \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                  \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "         \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "         \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "        \
        "%64, %65, accumulate, " flags "; }"                                                       \
        : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)                                        \
        : "l"(tile_a), "l"(tile_b))

enum Type { fp16, bf16, tf32 };

template <Type type>
__device__ __forceinline__ void multiply_matrices(float* sink, unsigned int iterations,
                                                  unsigned int ones) {
    __shared__ __align__(128) unsigned int a[64 * 16 / 2], b[128 * 16 / 2];
    for (unsigned int i = threadIdx.x; i < 64 * 16 / 2; i += blockDim.x) a[i] = ones;
    for (unsigned int i = threadIdx.x; i < 128 * 16 / 2; i += blockDim.x) b[i] = ones;
    // Makes ordinary stores visible to the tensor cores, which read through a different path.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    const unsigned long long tile_a = describe(a), tile_b = describe(b);
    float d[64] = {};
    for (unsigned int i = 0; i < iterations; ++i) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (unsigned int k = 0; k < 8; ++k) {
            if (type == tf32) {
                WGMMA("m64n128k8.f32.tf32.tf32", "1, 1");
            } else if (type == bf16) {
                WGMMA("m64n128k16.f32.bf16.bf16", "1, 1, 0, 0");
            } else {
                WGMMA("m64n128k16.f32.f16.f16", "1, 1, 0, 0");
            }
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }

    float total = 0.0f;
#pragma unroll
    for (unsigned int k = 0; k < 64; ++k) {
        total += d[k];
    }
    if (__float_as_uint(total) == 0x7fc0beefu) *sink = total;  // never, which nvcc cannot know
}

extern "C" __global__ void wgmma_rate(float* sink, unsigned int iterations, unsigned int ones) {
    multiply_matrices<fp16>(sink, iterations, ones);
}

extern "C" __global__ void wgmma_tf32_rate(float* sink, unsigned int iterations,
                                           unsigned int ones) {
    multiply_matrices<tf32>(sink, iterations, ones);
}

extern "C" __global__ void wgmma_bf16_rate(float* sink, unsigned int iterations,
                                           unsigned int ones) {
    multiply_matrices<bf16>(sink, iterations, ones);
}
