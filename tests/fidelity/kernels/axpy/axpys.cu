// y[i] = a x[i] + z[i] in half precision, rounded once, for one, two and eight elements per lane
//
// Launch: at least n, n / 2 and n / 8 threads (rounded up) in blocks of any size; any n >= 1.
// Two bytes per lane fill 2 sectors per request, a __half2 4, eight halves 16.
#include <cuda_fp16.h>

extern "C" __global__ void halves(const __half* x, const __half* z, __half* y, float a,
                                  unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(__float2half(a), x[i], z[i]);
}

extern "C" __global__ void half_pairs(const __half* x, const __half* z, __half* y, float a,
                                      unsigned int n) {
    unsigned int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    __half factor = __float2half(a);
    if (i + 1 < n) {
        __half2 of_x = *reinterpret_cast<const __half2*>(x + i);
        __half2 of_z = *reinterpret_cast<const __half2*>(z + i);
        *reinterpret_cast<__half2*>(y + i) = __hfma2(__half2half2(factor), of_x, of_z);
    } else if (i < n) {
        y[i] = __hfma(factor, x[i], z[i]);
    }
}

// Loaded and stored as four words in 16 bytes: a struct of __half2 would be copied word by word.
extern "C" __global__ void half_eights(const __half* x, const __half* z, __half* y, float a,
                                       unsigned int n) {
    unsigned int i = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    __half factor = __float2half(a);
    if (i + 7 < n) {
        uint4 of_x = *reinterpret_cast<const uint4*>(x + i);
        uint4 of_z = *reinterpret_cast<const uint4*>(z + i);
        uint4 result;
        const __half2* x_pair = reinterpret_cast<const __half2*>(&of_x);
        const __half2* z_pair = reinterpret_cast<const __half2*>(&of_z);
        __half2* y_pair = reinterpret_cast<__half2*>(&result);
        for (int j = 0; j < 4; ++j) {
            y_pair[j] = __hfma2(__half2half2(factor), x_pair[j], z_pair[j]);
        }
        *reinterpret_cast<uint4*>(y + i) = result;
    } else {
        for (; i < n; ++i) y[i] = __hfma(factor, x[i], z[i]);
    }
}
