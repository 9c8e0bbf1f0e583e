// A warpgroup's products: sums used too soon or changed without a fence; and correct ones. One
// block of 128 threads; `in` and `out` have 128 × 32 floats, each thread's sums contiguous.
#include <cuda_fp16.h>

#include "common/warpgroup.cuh"

struct Tile {
    alignas(1024) unsigned char bytes[64 * 128];

    __device__ unsigned long long fill() {
        for (unsigned int i = threadIdx.x; i < sizeof bytes / 2; i += 128) {
            reinterpret_cast<__half*>(bytes)[i] = __float2half(1.0f);
        }
        show_to_tensor_cores();
        __syncthreads();
        return describe(bytes);
    }
};

__device__ __forceinline__ void load(float (&sums)[32], const float* in) {
    for (unsigned int i = 0; i < 32; i++) sums[i] = in[threadIdx.x * 32 + i];
}

__device__ __forceinline__ void store(float* out, const float (&sums)[32]) {
    for (unsigned int i = 0; i < 32; i++) out[threadIdx.x * 32 + i] = sums[i];
}

// Two groups in flight; each is waited for separately, and then scaled.
extern "C" __global__ void right(const float* in, float* out, unsigned int n) {
    __shared__ Tile memory;
    const unsigned long long tile = memory.fill();
    float sums[32], others[32];
    load(sums, in);
    for (unsigned int i = 0; i < n; i++) {
        for (float& other : others) other = 0.0f;
        begin_products();
        multiply<__half>(sums, tile, tile);
        multiply<__half>(sums, tile, tile);
        end_products();
        multiply<__half>(others, tile, tile);
        end_products();
        wait_for_products<1>();
        for (float& sum : sums) sum *= 0.5f;
        wait_for_products<0>();
        for (unsigned int j = 0; j < 32; j++) sums[j] += others[j];
    }
    store(out, sums);
}

// The compiler puts the scaling after the fence, and computes the next factors in registers from
// which the current ones are still being read.
extern "C" __global__ void right_factors(const float* in, float* out, unsigned int n) {
    __shared__ Tile memory;
    const unsigned long long tile = memory.fill();
    float sums[32];
    load(sums, in);
    unsigned int factors[4], next[4];
    for (unsigned int& factor : factors) factor = 0x3c003c00;
    for (unsigned int i = 0; i < n; i++) {
        for (float& sum : sums) sum *= 0.25f;
        begin_products();
        multiply_rows(sums, factors, tile);
        end_products();
        for (unsigned int j = 0; j < 4; j++) {
            next[j] = __float_as_uint(in[(i + j) * 32 + threadIdx.x % 32]) & 0x3c003c00;
        }
        wait_for_products<0>();
        for (unsigned int j = 0; j < 4; j++) factors[j] = next[j];
    }
    store(out, sums);
}

extern "C" __global__ void stored_before_the_wait(const float* in, float* out, unsigned int) {
    __shared__ Tile memory;
    const unsigned long long tile = memory.fill();
    float sums[32];
    load(sums, in);
    begin_products();
    multiply<__half>(sums, tile, tile);  // begun
    end_products();
    store(out, sums);
    wait_for_products<0>();
}

extern "C" __global__ void waited_for_the_one_before(const float* in, float* out, unsigned int) {
    __shared__ Tile memory;
    const unsigned long long tile = memory.fill();
    float sums[32], others[32];
    load(sums, in);
    load(others, in);
    begin_products();
    multiply<__half>(sums, tile, tile);
    end_products();
    multiply<__half>(others, tile, tile);
    end_products();
    wait_for_products<1>();
    store(out, others);
    wait_for_products<0>();
    store(out, sums);
}

extern "C" __global__ void never_fenced(const float* in, float* out, unsigned int) {
    __shared__ Tile memory;
    const unsigned long long tile = memory.fill();
    float sums[32] = {};
    multiply<__half>(sums, tile, tile);
    end_products();
    wait_for_products<0>();
    store(out, sums);
}

extern "C" __global__ void scaled_without_a_fence(const float* in, float* out, unsigned int) {
    __shared__ Tile memory;
    const unsigned long long tile = memory.fill();
    float sums[32];
    load(sums, in);
    begin_products();
    multiply<__half>(sums, tile, tile);
    end_products();
    wait_for_products<0>();
    for (float& sum : sums) sum *= 0.5f;  // changed
    multiply<__half>(sums, tile, tile);
    end_products();
    wait_for_products<0>();
    store(out, sums);
}
