// sums[r] = Σ x[r * columns + c], float32 or float64 (DTYPE), two ways
//
// Launch: any grid, any block that is a multiple of 32; rows are handed out by a grid-stride loop.

// One warp per row: lanes read neighbours and add up by shuffles. PTX and machine code can differ:
// the assembler unrolls the loop, and lanes with enough elements left for the unrolled body diverge
// from those without, so one load of all lanes becomes two of some (250 columns: 8 or 7 a lane).
extern "C" __global__ void warp_a_row(const DTYPE* x, DTYPE* sums, unsigned int rows,
                                      unsigned int columns) {
    unsigned int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    unsigned int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (unsigned int row = first; row < rows; row += warps) {
        DTYPE sum = 0;
        for (unsigned int c = lane; c < columns; c += 32) sum += x[row * columns + c];
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        }
        if (lane == 0) sums[row] = sum;
    }
}

// One thread per row: lanes are a row apart, one sector each, and use 4 or 8 bytes of it at a time.
extern "C" __global__ void thread_a_row(const DTYPE* x, DTYPE* sums, unsigned int rows,
                                        unsigned int columns) {
    unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += step) {
        DTYPE sum = 0;
        for (unsigned int c = 0; c < columns; ++c) sum += x[row * columns + c];
        sums[row] = sum;
    }
}
