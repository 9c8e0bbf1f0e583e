// output[0] = max of input[0 .. n), float32, by CUB: what the CUDA toolkit itself has for this.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream. CUB needs
// scratch memory of a size that it says when it is asked without any. It is made in the first call
// that needs more than there is; that call verifies and is not timed, and calls of the same n after
// it only enqueue.
//
// From: cub::DeviceReduce::Max, CUDA Core Compute Libraries.
#include <cub/device/device_reduce.cuh>

#include <cstddef>

extern "C" cudaError_t maximum(const float* input, float* output, unsigned int n,
                               cudaStream_t stream) {
    static void* scratch = nullptr;
    static std::size_t capacity = 0;

    std::size_t needed = 0;
    cudaError_t error = cub::DeviceReduce::Max(nullptr, needed, input, output, n, stream);
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
    return cub::DeviceReduce::Max(scratch, needed, input, output, n, stream);
}
