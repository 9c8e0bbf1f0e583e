// y = x * weights, float32, NCHW: x is n × c × h × w with a border of `pad` zeros, weights are
// out × c × k × k, y is n × out × rows × columns, where rows = h + 2 pad - k + 1
//
// Idea: v4 multiplies on the float units. Three products on tensor cores preserve nearly all bits
// of a float (common/three_tf32.cuh), and are faster. To avoid waiting for x, the next tiles are
// fetched into registers while the current ones are multiplied, and stored to a second pair.
//
// Contract: any n, c, h, w, out and pad, with k = K, c k k >= 16 (a product is accurate to 2^-20,
// which a few additions hide), rows and columns >= 1 and buffers below 2^32 elements; a block of
// 256 threads; the grid covers (n * rows * columns, out) in tiles of 128 × 64. 27 KiB of static
// shared memory. Compute capability 8.0.
//
// From: "Implicit GEMM" in CUTLASS's documentation; sgemm/v6 and v13.
//
// Measured: H200, n = 32, c = 64, h = 56, w = 56, out = 64, k = 3, rows = 56: 1.82× v4.
#include "common/three_tf32.cuh"

constexpr unsigned int M = 64, N = 128, DEPTH = 16;  // of a block's tiles
constexpr unsigned int THREADS = 256;

// Rows slightly longer than the tile, so a warp's reads are spread over all banks.
struct Tiles {
    float weights[M][DEPTH + 4];
    float x[DEPTH][N + 8];
};

template <unsigned int K>
__global__ void __launch_bounds__(THREADS, 2)
    conv2d(const float* x, const float* weights, float* y, unsigned int n, unsigned int c,
           unsigned int h, unsigned int w, unsigned int out, unsigned int pad) {
    __shared__ Tiles tiles[2];
    const unsigned int rows = h + 2 * pad - K + 1, columns = w + 2 * pad - K + 1;
    const unsigned int plane = rows * columns, places = n * plane, terms = c * K * K;
    const unsigned int tid = threadIdx.x;

    // This thread loads every second term of one window, always the same, and one term each of four
    // channels' weights.
    const unsigned int place = blockIdx.x * N + tid % N;
    const unsigned int row = place % plane / columns, column = place % plane % columns;
    const float* image = x + place / plane * c * h * w;
    float next_x[DEPTH / 2], next_w[M * DEPTH / THREADS];
    const auto fetch = [&](unsigned int first) {
#pragma unroll
        for (unsigned int e = 0; e < DEPTH / 2; e++) {
            // Divisions by constants. Unsigned: an index before the first row or column is far
            // beyond the last one.
            const unsigned int term = first + 2 * e + tid / N, channel = term / (K * K);
            const unsigned int i = row + term % (K * K) / K - pad, j = column + term % K - pad;
            const bool inside = place < places && term < terms && i < h && j < w;
            next_x[e] = inside ? image[(channel * h + i) * w + j] : 0.0f;
        }
#pragma unroll
        for (unsigned int e = 0; e < M * DEPTH / THREADS; e++) {
            const unsigned int o = blockIdx.y * M + e * THREADS / DEPTH + tid / DEPTH;
            const unsigned int term = first + tid % DEPTH;
            next_w[e] = o < out && term < terms ? weights[o * terms + term] : 0.0f;
        }
    };
    const auto store = [&](Tiles& to) {
#pragma unroll
        for (unsigned int e = 0; e < DEPTH / 2; e++) to.x[2 * e + tid / N][tid % N] = next_x[e];
#pragma unroll
        for (unsigned int e = 0; e < M * DEPTH / THREADS; e++) {
            to.weights[e * THREADS / DEPTH + tid / DEPTH][tid % DEPTH] = next_w[e];
        }
    };

    // A warp computes 32 channels of 32 windows; three_tf32.cuh says which of them a lane holds.
    const unsigned int g = tid % 32 / 4, t = tid % 4;
    const unsigned int v = tid / 128 * 32, u = tid / 32 % 4 * 32;
    float sums[2][4][4] = {};
    fetch(0);
    store(tiles[0]);
    __syncthreads();
    for (unsigned int first = 0, present = 0; first < terms; first += DEPTH, present ^= 1) {
        if (first + DEPTH < terms) fetch(first + DEPTH);
        const Tiles& from = tiles[present];
#pragma unroll
        for (unsigned int l = t; l < DEPTH; l += 8) {
            const auto of_weights = [&](unsigned int o) -> Split<4> {
                return {from.weights[o][l], from.weights[o + 8][l], from.weights[o][l + 4],
                        from.weights[o + 8][l + 4]};
            };
            const Split<4> a[2] = {of_weights(v + g), of_weights(v + g + 16)};
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                const unsigned int at = u + 8 * j + g;
                const Split<2> b = {from.x[l][at], from.x[l + 4][at]};
                multiply_three_tf32(sums[0][j], a[0], b);
                multiply_three_tf32(sums[1][j], a[1], b);
            }
        }
        // All are done with the previous tiles: they have passed the barrier after them.
        if (first + DEPTH < terms) store(tiles[present ^ 1]);
        __syncthreads();
    }

#pragma unroll
    for (unsigned int j = 0; j < 8; j++) {
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
