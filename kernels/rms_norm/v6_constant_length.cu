// output[r][c] = input[r][c] / sqrt(mean square of row r + epsilon) * gamma[c]; rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: the compiler knows the length of a row, as torch.compile does. Where it is a multiple of 16
// bytes, no row has elements outside its packs, few threads ask whether a pack is there, and a
// division is a product. v2 decides at run time how to load its weights, and loads them last; here
// they are in flight together with the row, and the sum costs one barrier.
//
// Contract: any rows from 1 to 2^31 - 1; cols is COLS, a multiple of what 16 bytes hold. LANES of a
// block's THREADS threads take ROWS rows: LANES is a power of 2 up to 32, or THREADS with ROWS of
// 1. The grid covers the rows. All of them are defined. No dynamic shared memory. All buffers are
// 16-byte aligned, as every device allocation is, and the output overlaps no input.
//
// From: torch.compile, which compiles for the shapes that it is given.
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.022× v2, float16 0.982× v2, bfloat16 0.991× v2.
#include "common/constant_row.cuh"

#if !defined(COLS) || !defined(LANES) || !defined(THREADS) || !defined(ROWS)
#error "v6_constant_length.cu needs its shape: -DCOLS=1024 -DLANES=128 -DTHREADS=128 -DROWS=1"
#endif

__global__ void __launch_bounds__(THREADS)
    rms_norm(const DTYPE* __restrict__ input, const DTYPE* __restrict__ gamma,
             DTYPE* __restrict__ output, float epsilon, unsigned int rows) {
    using Rows = ConstantRows<DTYPE, COLS, LANES, THREADS, ROWS>;
    constexpr unsigned int W = Rows::W, STEPS = Rows::STEPS;
    const Rows share{rows};

    typename Rows::Packs x[ROWS], g;
#pragma unroll
    for (unsigned int r = 0; r < ROWS; r++) share.load_row(x[r], input, r);
    share.load(g, gamma);

#pragma unroll
    for (unsigned int r = 0; r < ROWS; r++) {
        float v[STEPS][W], squares = 0.0f;
#pragma unroll
        for (unsigned int s = 0; s < STEPS; s++) {
#pragma unroll
            for (unsigned int k = 0; k < W; k++) {
                v[s][k] = static_cast<float>(x[r][s].value[k]);
                squares += v[s][k] * v[s][k];  // zeros past the end
            }
        }
        const float scale = rsqrtf(Rows::all<Sum, 0>(squares) * (1.0f / COLS) + epsilon);

#pragma unroll
        for (unsigned int s = 0; s < STEPS; s++) {
#pragma unroll
            for (unsigned int k = 0; k < W; k++) {
                v[s][k] *= scale * static_cast<float>(g[s].value[k]);
            }
        }
        share.store_row(output, r, v);
    }
}
