// A bitonic sort in shared memory: at stride 32 two warps exchange words, unsynchronised.
// LAUNCH k<<<1, 128>>>(float[128])
extern "C" __global__ void k(float* data) {
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    s[t] = data[127 - t];
    __syncthreads();
    for (unsigned size = 2; size <= 128; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            unsigned other = t ^ stride;
            if (other > t) {
                float x = s[t], y = s[other];  // FAULT: race
                if ((x > y) == ((t & size) == 0)) {
                    s[t] = y;  // FAULT: race
                    s[other] = x;  // FAULT: race
                }
            }
            if (stride >= 64 || stride == 1) __syncthreads();
            else __syncwarp();
        }
    data[t] = s[t];  // FAULT: race
}
