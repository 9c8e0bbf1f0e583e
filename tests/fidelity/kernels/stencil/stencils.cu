// y[i] = Σ (4 − |j|) x[i + j], j = −3 … 3, with x zero outside 0 … n − 1; float32, two ways
//
// Launch: grid ceil_div(n, block); in_shared takes 4 * (block + 6) bytes of dynamic shared memory
// and a block of at least 6.

constexpr int RADIUS = 3;

// Every thread reads its seven elements: 7 requests, all but the middle one unaligned.
extern "C" __global__ void direct(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int j = -RADIUS; j <= RADIUS; ++j) {
        if (i + j >= 0 && i + j < n) sum += (RADIUS + 1 - abs(j)) * x[i + j];
    }
    y[i] = sum;
}

// The block's elements and three on either side pass through shared memory once.
extern "C" __global__ void in_shared(const float* x, float* y, int n) {
    extern __shared__ float tile[];
    int first = blockIdx.x * blockDim.x - RADIUS, t = threadIdx.x;
    tile[t] = first + t >= 0 && first + t < n ? x[first + t] : 0.0f;
    if (t < 2 * RADIUS) {  // the halo's end
        int i = first + blockDim.x + t;
        tile[blockDim.x + t] = i < n ? x[i] : 0.0f;
    }
    __syncthreads();
    int i = first + RADIUS + t;
    if (i >= n) return;
    float sum = 0.0f;
    for (int j = -RADIUS; j <= RADIUS; ++j) sum += (RADIUS + 1 - abs(j)) * tile[t + RADIUS + j];
    y[i] = sum;
}
