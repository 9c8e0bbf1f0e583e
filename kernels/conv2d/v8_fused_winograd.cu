// y = x * weights, float32, NCHW, 3 × 3: x is n × c × h × w with a border of `pad` zeros, weights are
// out × c × 3 × 3, y is n × out × rows × columns, where rows = h + 2 pad - 2
//
// Idea: v7 writes the transform of x, reads it, writes the products, and reads them: with few
// channels that is most of its time. Here a block computes all 16 matrices of products for 64
// channels of y and 32 tiles, so patches of x are transformed on their way to shared memory, and
// the products on their way to y. Only the weights are transformed beforehand.
//
// Contract: any n, h, w, out and pad, c a multiple of 8, rows and columns >= 1 and buffers below
// 2^32 elements. `u` is as in v7. A block has 256 threads, and the grid covers the tiles of 2 × 2
// elements of y, 32 per block, and y's channels, 64 per block. 112 KiB of dynamic shared memory.
// Compute capability 8.0.
//
// From: the fused kernels that Lavin and Gray describe, "Fast Algorithms for Convolutional Neural
// Networks" (2015).
//
// Measured: H200, n = 32, c = 64, h = 56, w = 56, out = 64, k = 3, rows = 56: 1.53× v7.
#include "common/async_copy.cuh"
#include "common/three_tf32.cuh"
#include "winograd.cuh"

constexpr unsigned int M = 64, N = 32, DEPTH = 8;  // of a block's 16 products
constexpr unsigned int THREADS = 256;

// Rows slightly longer than the tile, so a warp's reads are spread over all banks.
struct Factors {
    float u[16][DEPTH][M + 8];
    float v[16][DEPTH][N + 8];
};

union Memory {
    Factors factors[2];
    float products[16][M / 2][N + 8];  // of half of the channels of y
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv2d(const float* x, const float* u, float* y, unsigned int n, unsigned int c, unsigned int h,
           unsigned int w, unsigned int out, unsigned int pad) {
    extern __shared__ __align__(16) unsigned char bytes[];
    Memory& memory = *reinterpret_cast<Memory*>(bytes);
    const Layout layout(h, w, pad);
    const unsigned int tiles = n * layout.down * layout.across, pitch = rounded_up(out);
    const unsigned int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const unsigned int first_o = blockIdx.y * M, steps = c / DEPTH;

    // This thread loads one patch of x, always the same, of every eighth channel.
    const unsigned int tile = blockIdx.x * N + lane, row = layout.row(tile);
    const unsigned int column = layout.column(tile), image = layout.image(tile);
    bool inside[4][4];
#pragma unroll
    for (unsigned int i = 0; i < 16; i++) {
        // Unsigned: an index before the first row or column is far beyond the last one.
        inside[i / 4][i % 4] = tile < tiles && row + i / 4 - pad < h && column + i % 4 - pad < w;
    }
    float patch[4][4];
    const auto fetch = [&](unsigned int step, Factors& to) {
        const float* from = x + (image * c + step * DEPTH + warp) * h * w;
        from += static_cast<int>((row - pad) * w + column - pad);
#pragma unroll
        for (unsigned int i = 0; i < 16; i++) {
            patch[i / 4][i % 4] = inside[i / 4][i % 4] ? from[i / 4 * w + i % 4] : 0.0f;
        }
#pragma unroll
        for (unsigned int i = 0; i < 16 * DEPTH * M / 4; i += THREADS) {
            const unsigned int in_u = (i + tid) / (M / 4), four = tid % (M / 4) * 4;
            copy_four<true>(&to.u[in_u / DEPTH][in_u % DEPTH][four], u, 16 * c, pitch,
                            in_u / DEPTH * c + step * DEPTH + in_u % DEPTH, first_o + four);
        }
        commit_copies();
    };
    const auto store = [&](Factors& to) {
        transform_patch(patch);
#pragma unroll
        for (unsigned int i = 0; i < 16; i++) to.v[i][warp][lane] = patch[i / 4][i % 4];
        wait_for_all_but<0>();
    };

    // A warp computes two of the products; three_tf32.cuh says which of them a lane holds.
    const unsigned int g = lane / 4, t = lane % 4;
    float sums[2][M / 16][N / 8][4] = {};
    fetch(0, memory.factors[0]);
    store(memory.factors[0]);
    __syncthreads();
    for (unsigned int step = 0; step < steps; step++) {
        const Factors& from = memory.factors[step % 2];
        Factors& next = memory.factors[(step + 1) % 2];
        if (step + 1 < steps) fetch(step + 1, next);
#pragma unroll
        for (unsigned int p = 0; p < 2; p++) {
            const auto& of_u = from.u[2 * warp + p];
            const auto& of_v = from.v[2 * warp + p];
            const auto rows_of_u = [&](unsigned int o) -> Split<4> {
                return {of_u[t][o], of_u[t][o + 8], of_u[t + 4][o], of_u[t + 4][o + 8]};
            };
            const Split<4> a[M / 16] = {rows_of_u(g), rows_of_u(g + 16), rows_of_u(g + 32),
                                        rows_of_u(g + 48)};
#pragma unroll
            for (unsigned int j = 0; j < N / 8; j++) {
                const Split<2> b = {of_v[t][8 * j + g], of_v[t + 4][8 * j + g]};
#pragma unroll
                for (unsigned int i = 0; i < M / 16; i++) multiply_three_tf32(sums[p][i][j], a[i], b);
            }
        }
        // All are done with the previous operands: they have passed the barrier after them.
        if (step + 1 < steps) store(next);
        __syncthreads();
    }

    for (unsigned int half = 0; half < 2; half++) {
#pragma unroll
        for (unsigned int e = 0; e < 2 * (M / 32) * (N / 8) * 2; e++) {
            const unsigned int p = e / 16, i = e / 8 % 2, j = e / 2 % 4, lower = e % 2;
            // Written out, because registers have no index.
            const float* of_half = half == 0 ? sums[p][i][j] : sums[p][i + M / 32][j];
            float* to = &memory.products[2 * warp + p][16 * i + 8 * lower + g][8 * j + 2 * t];
            *reinterpret_cast<float2*>(to) = make_float2(of_half[2 * lower], of_half[2 * lower + 1]);
        }
        __syncthreads();
        for (unsigned int i = warp; i < M / 2; i += THREADS / 32) {
            const unsigned int o = first_o + half * (M / 2) + i;
            if (tile >= tiles || o >= out) continue;
            float2 columns[4];
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                columns[j] = transform_back(memory.products[j][i][lane],
                                            memory.products[j + 4][i][lane],
                                            memory.products[j + 8][i][lane],
                                            memory.products[j + 12][i][lane]);
            }
            store_tile(y, layout, image * out + o, row, column, columns);
        }
        __syncthreads();
    }
}
