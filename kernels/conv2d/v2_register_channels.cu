// y = x * weights, float32, NCHW: x is n × c × h × w with a border of `pad` zeros, weights are
// out × c × k × k, y is n × out × rows × columns, where rows = h + 2 pad - k + 1
//
// Idea: all channels of y use the same windows. A thread keeps the sums of several channels of y in
// registers, so a word of x that it reads from shared memory is multiplied once for each of them,
// and the tile is loaded for all of them together. Their weights are adjacent in shared memory. The
// compiler knows the window's size, so its loops unroll.
//
// Contract: any n, c, h, w, out and pad, with k = K, rows and columns >= 1, n out below 2^16 and
// buffers below 2^32 elements; a block of (32, 8) threads; the grid covers (columns, rows,
// n * ceil(out / CHANNELS)). (31 + K) (7 + K) + K K CHANNELS floats of static shared memory.
//
// From: register tiling, as in Volkov, "Better Performance at Lower Occupancy" (2010).
//
// Measured: H200, n = 32, c = 64, h = 56, w = 56, out = 64, k = 3, rows = 56: 7.05× v1.
constexpr unsigned int ROWS = 8, COLUMNS = 32;  // of a block's tile of y

template <unsigned int K, unsigned int CHANNELS>
__global__ void __launch_bounds__(256) conv2d(const float* x, const float* weights, float* y,
                                              unsigned int c, unsigned int h, unsigned int w,
                                              unsigned int out, unsigned int pad) {
    __shared__ float tile[ROWS + K - 1][COLUMNS + K - 1];
    __shared__ __align__(16) float windows[K * K][CHANNELS];
    const unsigned int rows = h + 2 * pad - K + 1, columns = w + 2 * pad - K + 1;
    const unsigned int column = blockIdx.x * COLUMNS + threadIdx.x;
    const unsigned int row = blockIdx.y * ROWS + threadIdx.y;
    const unsigned int groups = (out + CHANNELS - 1) / CHANNELS;
    const unsigned int image = blockIdx.z / groups, first = blockIdx.z % groups * CHANNELS;

    float sums[CHANNELS] = {};
    for (unsigned int channel = 0; channel < c; channel++) {
        const float* plane = x + (image * c + channel) * h * w;
        for (unsigned int r = threadIdx.y; r < ROWS + K - 1; r += ROWS) {
            for (unsigned int s = threadIdx.x; s < COLUMNS + K - 1; s += COLUMNS) {
                // Unsigned: an index before the first row or column is far beyond the last one.
                const unsigned int i = blockIdx.y * ROWS + r - pad;
                const unsigned int j = blockIdx.x * COLUMNS + s - pad;
                tile[r][s] = i < h && j < w ? plane[i * w + j] : 0.0f;
            }
        }
        const unsigned int tid = threadIdx.y * COLUMNS + threadIdx.x;
        for (unsigned int i = tid; i < K * K * CHANNELS; i += ROWS * COLUMNS) {
            const unsigned int o = first + i / (K * K), at = i % (K * K);
            windows[at][i / (K * K)] =
                o < out ? weights[(o * c + channel) * (K * K) + at] : 0.0f;
        }
        __syncthreads();

#pragma unroll
        for (unsigned int a = 0; a < K; a++) {
#pragma unroll
            for (unsigned int b = 0; b < K; b++) {
                const float value = tile[threadIdx.y + a][threadIdx.x + b];
#pragma unroll
                for (unsigned int o = 0; o < CHANNELS; o++) {
                    sums[o] += value * windows[a * K + b][o];
                }
            }
        }
        __syncthreads();  // all have read before the tiles are overwritten
    }
    if (row >= rows || column >= columns) return;
#pragma unroll
    for (unsigned int o = 0; o < CHANNELS; o++) {
        if (first + o < out) {
            y[((image * out + first + o) * rows + row) * columns + column] = sums[o];
        }
    }
}
