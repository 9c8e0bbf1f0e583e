// steps[i] = the number of steps of k → k / 2 or 3 k + 1 that lead from start[i] to 1
//
// Launch: at least n threads in blocks of any size; starts are below 10,001, so that no step leaves
// 32 bits. Neighbouring starts need very different numbers of steps: a warp runs as long as its
// slowest lane while the others wait. In machine code the body is a select and the loop is the only
// branch, so instruction counts differ from PTX and memory accesses do not.
extern "C" __global__ void trip_counts(const unsigned int* start, unsigned int* steps,
                                       unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int k = start[i], count = 0;
    while (k != 1) {
        k = k % 2 ? 3 * k + 1 : k / 2;
        ++count;
    }
    steps[i] = count;
}
