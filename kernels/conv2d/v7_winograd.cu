// y = x * weights, float32, NCHW, 3 × 3: x is n × c × h × w with a border of `pad` zeros, weights are
// out × c × 3 × 3, y is n × out × rows × columns, where rows = h + 2 pad - 2
//
// Idea: 2 × 2 elements of y need 4 × 4 of x and, computed directly, 36 products per channel; if
// both are transformed first, 16 suffice (Winograd). The transforms only add, halve and quarter,
// and are linear in the channels, so each of the 16 positions is a product of matrices, summed over
// the channels, and the result is transformed back. It pays off with many channels: each word that
// is transformed and written then serves many products.
//
// Contract: any n, h, w, out and pad, c a multiple of 16, rows and columns >= 1 and buffers below
// 2^32 elements. `tiles` = n * ceil(rows / 2) * ceil(columns / 2). `u` has 16 matrices of c rows and
// `out`, rounded up to a multiple of 4, columns; `v` 16 of c rows and `tiles`, rounded up likewise,
// columns; `products` 16 of out rows and as many columns as v. All kernels have blocks of 256
// threads. The grids of the transforms cover a matrix with 256 columns and 1 row per block; that of
// multiply covers products with 128 columns and 64 rows per block, and the 16 matrices; it takes
// 39 KiB of static shared memory. Compute capability 8.0.
//
// From: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015), F(2 × 2, 3 × 3).
//
// Measured: H200, n = 32, c = 64, h = 56, w = 56, out = 64, k = 3, rows = 56: 1.11× v6.
#include "common/async_copy.cuh"
#include "common/three_tf32.cuh"
#include "winograd.cuh"

constexpr unsigned int M = 64, N = 128, DEPTH = 16;  // of a block's tiles
constexpr unsigned int THREADS = 256, STAGES = 3;

extern "C" __global__ void make_v(const float* x, float* v, unsigned int n, unsigned int c,
                                  unsigned int h, unsigned int w, unsigned int pad) {
    const Layout y(h, w, pad);
    const unsigned int tiles = n * y.down * y.across, pitch = rounded_up(tiles);
    const unsigned int tile = blockIdx.x * THREADS + threadIdx.x, channel = blockIdx.y;
    if (tile >= pitch) return;
    const float* plane = x + (y.image(tile) * c + channel) * h * w;
    float patch[4][4];
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            // Unsigned: an index before the first row or column is far beyond the last one.
            const unsigned int row = y.row(tile) + i - pad, column = y.column(tile) + j - pad;
            const bool inside = tile < tiles && row < h && column < w;
            patch[i][j] = inside ? plane[row * w + column] : 0.0f;
        }
    }
    transform_patch(patch);
#pragma unroll
    for (unsigned int i = 0; i < 16; i++) {
        v[(i * c + channel) * pitch + tile] = patch[i / 4][i % 4];
    }
}

// Rows slightly longer than the tile, so a warp's reads are spread over all banks.
struct Tiles {
    float u[DEPTH][M + 8];
    float v[DEPTH][N + 8];
};

// products = uᵀ v, for each of the 16 matrices.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    multiply(const float* u, const float* v, float* products, unsigned int tiles, unsigned int c,
             unsigned int out) {
    __shared__ __align__(16) Tiles ring[STAGES];
    const unsigned int pitch_u = rounded_up(out), pitch_v = rounded_up(tiles);
    const unsigned int first_o = blockIdx.y * M, first_tile = blockIdx.x * N;
    const unsigned int tid = threadIdx.x, steps = c / DEPTH;
    u += blockIdx.z * c * pitch_u;
    v += blockIdx.z * c * pitch_v;
    products += blockIdx.z * out * pitch_v;

    const auto fetch = [&](unsigned int step) {
        if (step < steps) {
            Tiles& to = ring[step % STAGES];
            const unsigned int channel = step * DEPTH + tid / 16;
            const unsigned int four = tid % 16 * 4;
            copy_four<true>(&to.u[tid / 16][four], u, c, pitch_u, channel, first_o + four);
            copy_four<true>(&to.v[tid / 16][four], v, c, pitch_v, channel, first_tile + four);
            copy_four<true>(&to.v[tid / 16][four + 64], v, c, pitch_v, channel,
                            first_tile + four + 64);
        }
        commit_copies();
    };

    // A warp computes 32 × 32; three_tf32.cuh says which of them a lane holds.
    const unsigned int g = tid % 32 / 4, t = tid % 4;
    const unsigned int row = tid / 128 * 32, column = tid / 32 % 4 * 32;
    float sums[2][4][4] = {};
    for (unsigned int step = 0; step < STAGES - 1; step++) fetch(step);
    for (unsigned int step = 0; step < steps; step++) {
        wait_for_all_but<STAGES - 2>();
        __syncthreads();  // also: all are done with the tiles that are overwritten now
        fetch(step + STAGES - 1);
        const Tiles& from = ring[step % STAGES];
#pragma unroll
        for (unsigned int l = t; l < DEPTH; l += 8) {
            const auto of_u = [&](unsigned int o) -> Split<4> {
                return {from.u[l][o], from.u[l][o + 8], from.u[l + 4][o], from.u[l + 4][o + 8]};
            };
            const Split<4> a[2] = {of_u(row + g), of_u(row + g + 16)};
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                const unsigned int at = column + 8 * j + g;
                const Split<2> b = {from.v[l][at], from.v[l + 4][at]};
                multiply_three_tf32(sums[0][j], a[0], b);
                multiply_three_tf32(sums[1][j], a[1], b);
            }
        }
    }

#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        const unsigned int o = first_o + row + 8 * i + g;
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            const unsigned int tile = first_tile + column + 8 * j + 2 * t;
            const float* pair = &sums[i / 2][j][i % 2 * 2];
            // The pitch is even: both elements exist, or neither.
            if (o < out && tile < pitch_v) {
                *reinterpret_cast<float2*>(products + o * pitch_v + tile) =
                    make_float2(pair[0], pair[1]);
            }
        }
    }
}

extern "C" __global__ void make_y(const float* products, float* to, unsigned int n,
                                  unsigned int out, unsigned int h, unsigned int w,
                                  unsigned int pad) {
    const Layout y(h, w, pad);
    const unsigned int tiles = n * y.down * y.across, pitch = rounded_up(tiles);
    const unsigned int tile = blockIdx.x * THREADS + threadIdx.x, o = blockIdx.y;
    if (tile >= tiles) return;
    float2 columns[4];
#pragma unroll
    for (unsigned int j = 0; j < 4; j++) {
        const float* from = products + (j * out + o) * pitch + tile;
        const unsigned int row = 4 * out * pitch;  // of the 4 × 4 matrices
        columns[j] = transform_back(from[0], from[row], from[2 * row], from[3 * row]);
    }
    store_tile(to, y, y.image(tile) * out + o, y.row(tile), y.column(tile), columns);
}
