// steps[i] = how many steps the Collatz sequence of start[i] takes to reach 1: every lane of a warp
// leaves the loop at a time of its own.
//   collatz: grid ceil_div(n, block), block block, args [start, steps, n]
extern "C" __global__ void collatz(const unsigned int* start, unsigned int* steps, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x = start[i], count = 0;
    while (x > 1) {
        x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        ++count;
    }
    steps[i] = count;
}
