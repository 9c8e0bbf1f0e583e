// output[b] = the number of input[0 .. n) equal to b, b = 0 .. 255, int32, by CUB: from the CUDA
// toolkit.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream.
//
// From: cub::DeviceHistogram::HistogramEven, CUDA Core Compute Libraries.
#include <cub/device/device_histogram.cuh>

#include <cstddef>

#include "common/scratch.cuh"

extern "C" cudaError_t histogram(const int* input, int* output, int n, cudaStream_t stream) {
    static Scratch scratch;
    constexpr int levels = 257, lowest = 0, beyond = 256;

    std::size_t needed = 0;
    cudaError_t error = cub::DeviceHistogram::HistogramEven(nullptr, needed, input, output, levels,
                                                            lowest, beyond, n, stream);
    if (error != cudaSuccess) return error;
    error = scratch.hold(needed);
    if (error != cudaSuccess) return error;
    return cub::DeviceHistogram::HistogramEven(scratch.memory, needed, input, output, levels,
                                               lowest, beyond, n, stream);
}
