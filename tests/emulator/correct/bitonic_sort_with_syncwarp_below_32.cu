// A bitonic sort in shared memory: exchanges at strides below 32 stay within a warp's own words.
// LAUNCH k<<<1, 128>>>(float[128])
// CHECK (a[0] == np.sort(was[0])).all()
extern "C" __global__ void k(float* data) {
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    s[t] = data[127 - t];
    __syncthreads();
    for (unsigned size = 2; size <= 128; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            unsigned other = t ^ stride;
            if (other > t) {
                float x = s[t], y = s[other];
                if ((x > y) == ((t & size) == 0)) {
                    s[t] = y;
                    s[other] = x;
                }
            }
            if (stride >= 32 || stride == 1) __syncthreads();
            else __syncwarp();
        }
    data[t] = s[t];
}
