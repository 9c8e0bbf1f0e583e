// output[i] = sum of input[0 .. i], float32, by CUB: what the CUDA toolkit itself has for this.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream. CUB needs
// scratch memory of a size that it says when it is asked without any. It is made in the first call
// that needs more than there is; that call verifies and is not timed, and calls of the same n after
// it only enqueue.
//
// From: cub::DeviceScan::InclusiveSum, CUDA Core Compute Libraries.
#include <cub/device/device_scan.cuh>

#include <cstddef>

extern "C" cudaError_t scan(const float* input, float* output, int n, cudaStream_t stream) {
    static void* scratch = nullptr;
    static std::size_t capacity = 0;

    std::size_t needed = 0;
    cudaError_t error = cub::DeviceScan::InclusiveSum(nullptr, needed, input, output, n, stream);
    if (error != cudaSuccess) return error;
    if (needed > capacity) {
        // What is enqueued may still use the old memory; cudaFree waits for it.
        error = cudaFree(scratch);
        if (error != cudaSuccess) return error;
        scratch = nullptr;
        capacity = 0;
        error = cudaMalloc(&scratch, needed);
        if (error != cudaSuccess) return error;
        capacity = needed;
    }
    return cub::DeviceScan::InclusiveSum(scratch, needed, input, output, n, stream);
}
