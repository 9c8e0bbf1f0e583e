// y = x * weights, float32, NCHW: x is n × c × h × w with a border of `pad` zeros, weights are
// out × c × k × k, y is n × out × rows × columns, where rows = h + 2 pad - k + 1
//
// Idea: a window's terms may be added in any order. v5 follows the order of the weights, so each
// word of x takes divisions and four comparisons. Here sixteen channels of one position in the
// window come in turn: its address, and whether it is in the image, are computed once, and the
// words are a plane apart. A first kernel puts the weights into this order.
//
// Contract: any n, h, w, out and pad, c a multiple of 16, with k = K, rows and columns >= 1 and
// buffers below 2^32 elements. Both kernels have blocks of 256 threads. The grid of reorder covers
// the weights; that of conv2d covers (n * rows * columns, out) in tiles of N × 64, where N is 64 or
// 128, and it takes 26 KiB of static shared memory at most. Compute capability 8.0.
//
// From: the order in cuDNN's and CUTLASS's kernels for adjacent channels.
//
// Measured: H200, n = 32, c = 64, h = 56, w = 56, out = 64, k = 3, rows = 56: 1.24× v5.
#include "common/three_tf32.cuh"

constexpr unsigned int M = 64, DEPTH = 16;  // of a block's tiles
constexpr unsigned int THREADS = 256;

// Rows slightly longer than the tile, so a warp's reads are spread over all banks.
template <unsigned int N>
struct Tiles {
    float weights[DEPTH][M + 8];
    float x[DEPTH][N + 8];
};

// From out × c × K × K to K × K × c × out.
template <unsigned int K>
__global__ void reorder(const float* weights, float* reordered, unsigned int c, unsigned int out) {
    const unsigned int i = blockIdx.x * THREADS + threadIdx.x;  // of reordered
    if (i >= out * c * K * K) return;
    reordered[i] = weights[(i % out * c + i / out % c) * K * K + i / out / c];
}

template <unsigned int K, unsigned int N>
__global__ void __launch_bounds__(THREADS, N == 64 ? 3 : 2)
    conv2d(const float* x, const float* reordered, float* y, unsigned int n, unsigned int c,
           unsigned int h, unsigned int w, unsigned int out, unsigned int pad) {
    constexpr unsigned int FETCHED = DEPTH * N / THREADS;  // words of x, by each thread
    __shared__ Tiles<N> tiles[2];
    const unsigned int rows = h + 2 * pad - K + 1, columns = w + 2 * pad - K + 1;
    const unsigned int plane = rows * columns, places = n * plane, steps = c / DEPTH * K * K;
    const unsigned int tid = threadIdx.x;

    // This thread loads some channels of x for one window and one channel of y, always the
    // same.
    const unsigned int place = blockIdx.x * N + tid % N;
    const unsigned int row = place % plane / columns, column = place % plane % columns;
    const float* image = x + (place / plane * c + tid / N) * h * w;
    const unsigned int o = blockIdx.y * M + tid % M;
    float next_x[FETCHED], next_w[M * DEPTH / THREADS];
    const auto fetch = [&](unsigned int step) {
        const unsigned int channel = step / (K * K) * DEPTH, in_window = step % (K * K);
        // Unsigned: an index before the first row or column is far beyond the last one.
        const unsigned int i = row + in_window / K - pad, j = column + in_window % K - pad;
        const bool inside = place < places && i < h && j < w;
        const float* from = image + (channel * h + i) * w + j;
#pragma unroll
        for (unsigned int e = 0; e < FETCHED; e++) {
            next_x[e] = inside ? from[e * (THREADS / N) * h * w] : 0.0f;
        }
#pragma unroll
        for (unsigned int e = 0; e < M * DEPTH / THREADS; e++) {
            const unsigned int term = in_window * c + channel + e * (THREADS / M) + tid / M;
            next_w[e] = o < out ? reordered[term * out + o] : 0.0f;
        }
    };
    const auto store = [&](Tiles<N>& to) {
#pragma unroll
        for (unsigned int e = 0; e < FETCHED; e++) {
            to.x[e * (THREADS / N) + tid / N][tid % N] = next_x[e];
        }
#pragma unroll
        for (unsigned int e = 0; e < M * DEPTH / THREADS; e++) {
            to.weights[e * (THREADS / M) + tid / M][tid % M] = next_w[e];
        }
    };

    // A warp computes 32 channels of N / 4 windows; three_tf32.cuh says which of them a lane holds.
    const unsigned int g = tid % 32 / 4, t = tid % 4;
    const unsigned int v = tid / 128 * 32, u = tid / 32 % 4 * (N / 4);
    float sums[2][N / 32][4] = {};
    fetch(0);
    store(tiles[0]);
    __syncthreads();
    for (unsigned int step = 0; step < steps; step++) {
        if (step + 1 < steps) fetch(step + 1);
        const Tiles<N>& from = tiles[step % 2];
#pragma unroll
        for (unsigned int l = t; l < DEPTH; l += 8) {
            const auto of_weights = [&](unsigned int o) -> Split<4> {
                return {from.weights[l][o], from.weights[l][o + 8], from.weights[l + 4][o],
                        from.weights[l + 4][o + 8]};
            };
            const Split<4> a[2] = {of_weights(v + g), of_weights(v + g + 16)};
#pragma unroll
            for (unsigned int j = 0; j < N / 32; j++) {
                const unsigned int at = u + 8 * j + g;
                const Split<2> b = {from.x[l][at], from.x[l + 4][at]};
                multiply_three_tf32(sums[0][j], a[0], b);
                multiply_three_tf32(sums[1][j], a[1], b);
            }
        }
        // All are done with the previous tiles: they have passed the barrier after them.
        if (step + 1 < steps) store(tiles[(step + 1) % 2]);
        __syncthreads();
    }

#pragma unroll
    for (unsigned int j = 0; j < N / 16; j++) {
        const unsigned int at = blockIdx.x * N + u + j / 2 * 8 + 2 * t + j % 2;
        if (at >= places) continue;
        float* to = y + at / plane * out * plane + at % plane;
#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
            const unsigned int o = blockIdx.y * M + v + 8 * i + g;
            if (o < out) to[o * plane] = sums[i / 2][j / 2][i % 2 * 2 + j % 2];
        }
    }
}
