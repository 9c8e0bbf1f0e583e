// y = x * weights, float32, NCHW: x is n × c × h × w with a border of `pad` zeros, weights are
// out × c × k × k, y is n × out × rows × columns, where rows = h + 2 pad - k + 1
//
// Idea: v2 reads a weight from shared memory for each multiplication. Here a thread has four
// neighbouring positions as well as several channels, and uses each weight four times; because its
// four windows overlap, a row of them is K + 3 words of x, fetched 16 bytes at a time, for 4 K
// multiplications in each channel.
//
// Contract: any n, c, h, w, out and pad, with k = K, rows and columns >= 1, n out below 2^16 and
// buffers below 2^32 elements; a block of (8, 32) threads; the grid covers (columns, rows,
// n * ceil(out / CHANNELS)) in tiles of 32 × 32 positions. About (31 + K)² + K K CHANNELS floats of
// static shared memory.
//
// From: v2 and the thread tile of sgemm/v4.
//
// Measured: H200, n = 32, c = 64, h = 56, w = 56, out = 64, k = 3, rows = 56: 1.40× v2.
#include "common/matrix.cuh"

constexpr unsigned int ROWS = 32, COLUMNS = 32;  // of a block's tile of y
constexpr unsigned int THREADS = 256;

template <unsigned int K, unsigned int CHANNELS>
__global__ void __launch_bounds__(THREADS) conv2d(const float* x, const float* weights, float* y,
                                                  unsigned int c, unsigned int h, unsigned int w,
                                                  unsigned int out, unsigned int pad) {
    // The words of x that a thread fetches per row, and the tile's row: whole groups of four.
    constexpr unsigned int FETCHED = (K + 3 + 3) / 4 * 4;
    constexpr unsigned int PITCH = COLUMNS - 4 + FETCHED;
    __shared__ __align__(16) float tile[ROWS + K - 1][PITCH];
    __shared__ __align__(16) float windows[K * K][CHANNELS];
    const unsigned int rows = h + 2 * pad - K + 1, columns = w + 2 * pad - K + 1;
    const unsigned int column = blockIdx.x * COLUMNS + 4 * threadIdx.x;
    const unsigned int row = blockIdx.y * ROWS + threadIdx.y;
    const unsigned int groups = (out + CHANNELS - 1) / CHANNELS;
    const unsigned int image = blockIdx.z / groups, first = blockIdx.z % groups * CHANNELS;
    const unsigned int tid = threadIdx.y * blockDim.x + threadIdx.x;

    float sums[CHANNELS][4] = {};
    for (unsigned int channel = 0; channel < c; channel++) {
        const float* plane = x + (image * c + channel) * h * w;
        for (unsigned int at = tid; at < (ROWS + K - 1) * PITCH; at += THREADS) {
            // Unsigned: an index before the first row or column is far beyond the last one.
            const unsigned int i = blockIdx.y * ROWS + at / PITCH - pad;
            const unsigned int j = blockIdx.x * COLUMNS + at % PITCH - pad;
            tile[at / PITCH][at % PITCH] = i < h && j < w ? plane[i * w + j] : 0.0f;
        }
        for (unsigned int i = tid; i < K * K * CHANNELS; i += THREADS) {
            const unsigned int o = first + i / (K * K), at = i % (K * K);
            windows[at][i / (K * K)] =
                o < out ? weights[(o * c + channel) * (K * K) + at] : 0.0f;
        }
        __syncthreads();

#pragma unroll
        for (unsigned int a = 0; a < K; a++) {
            float values[FETCHED];
#pragma unroll
            for (unsigned int i = 0; i < FETCHED; i += 4) {
                fetch_four(values + i, &tile[threadIdx.y + a][4 * threadIdx.x + i]);
            }
#pragma unroll
            for (unsigned int b = 0; b < K; b++) {
#pragma unroll
                for (unsigned int o = 0; o < CHANNELS; o++) {
                    const float weight = windows[a * K + b][o];
#pragma unroll
                    for (unsigned int i = 0; i < 4; i++) sums[o][i] += values[b + i] * weight;
                }
            }
        }
        __syncthreads();  // all have read before the tiles are overwritten
    }
    if (row >= rows) return;
#pragma unroll
    for (unsigned int o = 0; o < CHANNELS; o++) {
        if (first + o >= out) break;
        float* to = y + ((image * out + first + o) * rows + row) * columns + column;
#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
            if (column + i < columns) to[i] = sums[o][i];
        }
    }
}
