// y[p][i][j] = x[p][i / 2][j / 2], float32: planes of h × w become planes of 2h × 2w
//
// Idea: a thread for each element of y finds its source. Loads and stores are 4 bytes, each word of
// x is requested four times, and finding a row and a column takes two divisions by numbers that are
// known only at launch.
//
// Contract: any rows (planes * h) and w >= 1 with 4 rows w below 2^32; any block; the blocks cover
// y with one element per thread. No shared memory. Planes need no index of their own: row i of y
// comes from row i / 2 of x in any plane, because each plane of y has an even number of rows.
//
// From: the definition.
//
// Measured: H200, planes = 64, h = 1,024, w = 1,024: 810 µs ± 0.052 %.
extern "C" __global__ void upsample(const float* x, float* y, unsigned int rows, unsigned int w) {
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= 4 * rows * w) return;
    const unsigned int row = at / (2 * w), column = at % (2 * w);
    y[at] = x[row / 2 * w + column / 2];
}
