// The flag is volatile, the data is not, and no fence keeps them in order.
// LAUNCH k<<<1, 64>>>(int[64])
extern "C" __global__ void k(int* out) {
    __shared__ int data[32];
    __shared__ volatile int flag;
    unsigned t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t >= 32) {
        data[t - 32] = t;  // OTHER
        __syncwarp();
        if (t == 32) flag = 1;
    } else {
        while (flag == 0) {
        }
        __syncwarp();
        out[t] = data[t];  // FAULT: race
    }
}
