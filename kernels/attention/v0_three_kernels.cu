// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major; if it
// is causal, a query attends only to the keys up to its own position
//
// Idea: the formula in three kernels: all n × n scores, the softmax of each of their rows in place,
// and the weighted sums of the rows of v. The scores are written to global memory and read back
// twice: 16 n n bytes per head, none of which the operation requires.
//
// Contract: any heads below 2^16, n and d >= 1, with heads n n below 2^32; T is float, __half or __nv_bfloat16,
// scores are float. scores: a block of (32, 8), a grid of (n, n, heads); softmax: any block of a
// multiple of 32 threads, a row per warp; sums: a block of (32, 8), a grid of (d, n, heads). No
// shared memory.
//
// From: Vaswani et al., "Attention Is All You Need" (2017), equation 1.
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float32 306 ms ± 0.079 %, float16 322 ms ± 0.041 %, bfloat16 322 ms ± 0.044 %.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

template <typename T>
__global__ void scores_of(const T* q, const T* k, float* scores, unsigned int n, unsigned int d,
                          bool causal) {
    const unsigned int key = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int query = blockIdx.y * blockDim.y + threadIdx.y;
    if (key >= n || query >= n) return;
    const T* from_q = q + (blockIdx.z * n + query) * d;
    const T* from_k = k + (blockIdx.z * n + key) * d;
    float sum = 0.0f;
    for (unsigned int i = 0; i < d; i++) {
        sum += static_cast<float>(from_q[i]) * static_cast<float>(from_k[i]);
    }
    const bool is_hidden = causal && key > query;
    scores[(blockIdx.z * n + query) * n + key] =
        is_hidden ? -INFINITY : sum / sqrtf(static_cast<float>(d));
}

// In place. The largest score is subtracted first: no exponential overflows, one is 1.
extern "C" __global__ void softmax_of_rows(float* scores, unsigned int rows, unsigned int n) {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;  // a whole warp
    float* of = scores + row * n;

    float largest = -INFINITY;
    for (unsigned int i = lane; i < n; i += 32) largest = fmaxf(largest, of[i]);
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    }
    float sum = 0.0f;
    for (unsigned int i = lane; i < n; i += 32) sum += expf(of[i] - largest);
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    for (unsigned int i = lane; i < n; i += 32) of[i] = expf(of[i] - largest) / sum;
}

template <typename T>
__global__ void weighted_sums(const float* weights, const T* v, T* o, unsigned int n,
                              unsigned int d) {
    const unsigned int column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int query = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= d || query >= n) return;
    const float* of = weights + (blockIdx.z * n + query) * n;
    float sum = 0.0f;
    for (unsigned int key = 0; key < n; key++) {
        sum += of[key] * static_cast<float>(v[(blockIdx.z * n + key) * d + column]);
    }
    o[(blockIdx.z * n + query) * d + column] = static_cast<T>(sum);
}
