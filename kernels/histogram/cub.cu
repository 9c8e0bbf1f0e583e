// output[b] = how many of input[0 .. n) are b, b = 0 .. 255, int32, by CUB: what the CUDA toolkit
// itself has for this.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream. CUB needs
// scratch memory of a size that it says when it is asked without any. It is made in the first call
// that needs more than there is; that call verifies and is not timed, and calls of the same n after
// it only enqueue.
//
// From: cub::DeviceHistogram::HistogramEven, CUDA Core Compute Libraries.
#include <cub/device/device_histogram.cuh>

#include <cstddef>

extern "C" cudaError_t histogram(const int* input, int* output, int n, cudaStream_t stream) {
    static void* scratch = nullptr;
    static std::size_t capacity = 0;
    constexpr int levels = 257, lowest = 0, beyond = 256;

    std::size_t needed = 0;
    cudaError_t error = cub::DeviceHistogram::HistogramEven(nullptr, needed, input, output, levels,
                                                            lowest, beyond, n, stream);
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
    return cub::DeviceHistogram::HistogramEven(scratch, needed, input, output, levels, lowest,
                                               beyond, n, stream);
}
