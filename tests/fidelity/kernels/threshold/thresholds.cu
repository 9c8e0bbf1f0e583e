// y[i] = 255 where x[i] > level, else 0: a grey picture made black and white, one byte per pixel
//
// Launch: at least n (bytes) or n / 4 (fours, rounded up) threads in blocks of any size; n >= 1.

// A warp's request is 32 bytes: one sector, a quarter of what a request can carry.
extern "C" __global__ void bytes(const unsigned char* x, unsigned char* y, int level,
                                 unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > level ? 255 : 0;
}

// Four pixels per lane in one 4-byte access.
extern "C" __global__ void fours(const unsigned char* x, unsigned char* y, int level,
                                 unsigned int n) {
    unsigned int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        uchar4 p = *reinterpret_cast<const uchar4*>(x + i);
        *reinterpret_cast<uchar4*>(y + i) = make_uchar4(
            p.x > level ? 255 : 0, p.y > level ? 255 : 0, p.z > level ? 255 : 0,
            p.w > level ? 255 : 0);
    } else {
        for (; i < n; ++i) y[i] = x[i] > level ? 255 : 0;
    }
}
