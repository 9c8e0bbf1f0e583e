// y[i] = x[s] + … + x[i], s = i − i % 256: running sums within segments of 256, int32, three ways
//
// Launch: block 256, grid ceil_div(n, 256); a block is a segment. Past n zeros are added.
// From: Harris, Sengupta, Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, chapter 39.

constexpr unsigned int SEGMENT = 256;

// Five shuffles per warp, then one warp scans the totals: shared memory holds 8 numbers.
extern "C" __global__ void shuffles(const int* x, int* y, unsigned int n) {
    __shared__ int totals[SEGMENT / 32];
    unsigned int i = blockIdx.x * SEGMENT + threadIdx.x;
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = i < n ? x[i] : 0;
    for (unsigned int distance = 1; distance < 32; distance *= 2) {
        int before = __shfl_up_sync(0xffffffffu, sum, distance);
        if (lane >= distance) sum += before;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        int total = lane < SEGMENT / 32 ? totals[lane] : 0;
        for (unsigned int distance = 1; distance < SEGMENT / 32; distance *= 2) {
            int before = __shfl_up_sync(0xffffffffu, total, distance);
            if (lane >= distance) total += before;
        }
        if (lane < SEGMENT / 32) totals[lane] = total;
    }
    __syncthreads();
    if (warp > 0) sum += totals[warp - 1];
    if (i < n) y[i] = sum;
}

// Every thread adds the one `distance` before it, eight times (Hillis and Steele).
extern "C" __global__ void doubling(const int* x, int* y, unsigned int n) {
    __shared__ int sums[SEGMENT];
    unsigned int i = blockIdx.x * SEGMENT + threadIdx.x, t = threadIdx.x;
    sums[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned int distance = 1; distance < SEGMENT; distance *= 2) {
        int before = t >= distance ? sums[t - distance] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    if (i < n) y[i] = sums[t];
}

// Up a tree and down again (Blelloch): a quarter of the additions, but lanes 2, 4, … 128 words
// apart, so up to 32 of them use one bank. At distance 1 the two sums are neighbours, which PTX
// reads and writes one by one and machine code as 8 bytes.
extern "C" __global__ void tree(const int* x, int* y, unsigned int n) {
    __shared__ int sums[SEGMENT];
    unsigned int i = blockIdx.x * SEGMENT + threadIdx.x, t = threadIdx.x;
    int own = i < n ? x[i] : 0;
    sums[t] = own;
    for (unsigned int distance = 1; distance < SEGMENT; distance *= 2) {
        __syncthreads();
        unsigned int right = 2 * distance * (t + 1) - 1;
        if (right < SEGMENT) sums[right] += sums[right - distance];
    }
    __syncthreads();
    if (t == 0) sums[SEGMENT - 1] = 0;
    for (unsigned int distance = SEGMENT / 2; distance > 0; distance /= 2) {
        __syncthreads();
        unsigned int right = 2 * distance * (t + 1) - 1;
        if (right < SEGMENT) {
            int left = sums[right - distance];
            sums[right - distance] = sums[right];
            sums[right] += left;
        }
    }
    __syncthreads();
    if (i < n) y[i] = sums[t] + own;
}
