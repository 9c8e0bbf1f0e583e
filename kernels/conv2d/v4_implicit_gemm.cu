// y = x * weights, float32, NCHW: x is n × c × h × w with a border of `pad` zeros, weights are
// out × c × k × k, y is n × out × rows × columns, where rows = h + 2 pad - k + 1
//
// Idea: a convolution is the product of the weights, as a matrix of out × (c k k), with a matrix of
// (c k k) × (n rows columns) whose columns are the windows. That matrix repeats each word of x k k
// times, so it is never built: a block of the tiled product (sgemm/v5) reads its tile from x. Many
// channels give many rows and a long sum even for small images, which fill v3's tiles badly; few
// channels leave most of the 64 rows empty.
//
// Contract: any n, c, h, w, out and pad, with k = K, rows and columns >= 1 and buffers below 2^32
// elements; a block of 256 threads; the grid covers (n * rows * columns, out) in tiles of 128 × 64.
// 6.3 KiB of static shared memory.
//
// From: Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning" (2014).
//
// Measured: H200, n = 32, c = 64, h = 56, w = 56, out = 64, k = 3, rows = 56: 11.3× v1.
#include "common/matrix.cuh"

constexpr unsigned int M = 64, N = 128, DEPTH = 8;  // of a block's tiles
constexpr unsigned int THREADS = 256;

template <unsigned int K>
__global__ void __launch_bounds__(THREADS) conv2d(const float* x, const float* weights, float* y,
                                                  unsigned int n, unsigned int c, unsigned int h,
                                                  unsigned int w, unsigned int out,
                                                  unsigned int pad) {
    __shared__ __align__(16) float tile_w[DEPTH][M + 4];
    __shared__ __align__(16) float tile_x[DEPTH][N];
    const unsigned int rows = h + 2 * pad - K + 1, columns = w + 2 * pad - K + 1;
    const unsigned int plane = rows * columns, places = n * plane, terms = c * K * K;
    const unsigned int tid = threadIdx.x;

    // This thread loads every second term of one window, which is always the same.
    const unsigned int place = blockIdx.x * N + tid % N;
    const unsigned int row = place % plane / columns, column = place % plane % columns;
    const float* image = x + place / plane * c * h * w;

    // It computes channels v .. v + 3, windows u .. u + 3 and u + 64 ...
    const unsigned int u = tid % 16 * 4, v = tid / 16 * 4;
    float sums[4][8] = {};
    for (unsigned int first = 0; first < terms; first += DEPTH) {
        for (unsigned int i = tid; i < M * DEPTH; i += THREADS) {
            const unsigned int o = blockIdx.y * M + i / DEPTH, term = first + i % DEPTH;
            tile_w[i % DEPTH][i / DEPTH] =
                o < out && term < terms ? weights[o * terms + term] : 0.0f;
        }
#pragma unroll
        for (unsigned int l = tid / N; l < DEPTH; l += THREADS / N) {
            // Divisions by constants. Unsigned: an index before the first row or column is far
            // beyond the last one.
            const unsigned int term = first + l, channel = term / (K * K);
            const unsigned int i = row + term % (K * K) / K - pad, j = column + term % K - pad;
            const bool inside = place < places && term < terms && i < h && j < w;
            tile_x[l][tid % N] = inside ? image[(channel * h + i) * w + j] : 0.0f;
        }
        __syncthreads();

#pragma unroll
        for (unsigned int l = 0; l < DEPTH; l++) {
            float of_w[4], of_x[8];
            fetch_four(of_w, &tile_w[l][v]);
            fetch_four(of_x, &tile_x[l][u]);
            fetch_four(of_x + 4, &tile_x[l][u + 64]);
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 8; j++) sums[i][j] += of_w[i] * of_x[j];
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (unsigned int j = 0; j < 8; j++) {
        const unsigned int at = blockIdx.x * N + u + j % 4 + j / 4 * 64;
        if (at >= places) continue;
        float* to = y + at / plane * out * plane + at % plane;
#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
            const unsigned int o = blockIdx.y * M + v + i;
            if (o < out) to[o * plane] = sums[i][j];
        }
    }
}
