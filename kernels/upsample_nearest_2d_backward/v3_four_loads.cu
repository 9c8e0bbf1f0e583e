// dx[p][i][j] = dy[p][2i][2j] + dy[p][2i][2j + 1] + dy[p][2i + 1][2j] + dy[p][2i + 1][2j + 1],
// float32: planes of 2h × 2w become planes of h × w
//
// Idea: v2 with two such pairs per thread, one block's width apart: four 16-byte loads are in
// flight before the first is waited for, and half as many blocks start and end.
//
// Contract: any rows (planes * h) and w >= 1 with 4 rows w below 2^32; any block; the blocks cover
// dx with two pairs of elements of a row per thread. VECTOR: w is even. Otherwise a thread loads
// pairs as in v1. dy begins on a 16-byte boundary and dx on one of 8. No shared memory.
//
// From: reduce_sum/v9b, which has four loads in flight for the same reason.
//
// Measured: H200, planes = 64, h = 1,024, w = 1,024: 0.998× v2 (the same within 1 %).
template <bool VECTOR>
__global__ void upsample_backward(const float* dy, float* dx, unsigned int rows, unsigned int w) {
    const unsigned int per_row = (w + 1) / 2;  // threads
    const unsigned int first = blockIdx.x * (2 * blockDim.x) + threadIdx.x;
    const unsigned int places = rows * per_row;
    if (VECTOR) {
        const float4* dy4 = reinterpret_cast<const float4*>(dy);
        float4 upper[2], lower[2];
#pragma unroll
        for (unsigned int i = 0; i < 2; i++) {
            const unsigned int at = first + i * blockDim.x;
            if (at >= places) break;
            const unsigned int row = at / per_row, column = at % per_row;
            upper[i] = dy4[2 * row * per_row + column];
            lower[i] = dy4[(2 * row + 1) * per_row + column];
        }
#pragma unroll
        for (unsigned int i = 0; i < 2; i++) {
            const unsigned int at = first + i * blockDim.x;
            if (at >= places) break;
            reinterpret_cast<float2*>(dx)[at] =
                make_float2((upper[i].x + upper[i].y) + (lower[i].x + lower[i].y),
                            (upper[i].z + upper[i].w) + (lower[i].z + lower[i].w));
        }
    } else {
        const float2* dy2 = reinterpret_cast<const float2*>(dy);
        for (unsigned int i = 0; i < 2; i++) {
            const unsigned int at = first + i * blockDim.x;
            if (at >= places) break;
            const unsigned int row = at / per_row, column = at % per_row;
            for (unsigned int j = 2 * column; j < min(2 * column + 2, w); j++) {
                const float2 upper = dy2[2 * row * w + j];
                const float2 lower = dy2[(2 * row + 1) * w + j];
                dx[row * w + j] = (upper.x + upper.y) + (lower.x + lower.y);
            }
        }
    }
}
