// Every thread that finds something writes the same `true`: no order changes the result.
// LAUNCH k<<<3, 64>>>(int[192], int[3])
// CHECK (a[1] == 1).all()
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[blockIdx.x * 64 + threadIdx.x] % 3 == 1) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = found;
}
