// output[0] = max of input[0 .. n), float32, by CUB: what the CUDA toolkit itself has for this.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream.
//
// From: cub::DeviceReduce::Max, CUDA Core Compute Libraries.
#include <cub/device/device_reduce.cuh>

#include <cstddef>

#include "common/scratch.cuh"

extern "C" cudaError_t maximum(const float* input, float* output, unsigned int n,
                               cudaStream_t stream) {
    static Scratch scratch;

    std::size_t needed = 0;
    cudaError_t error = cub::DeviceReduce::Max(nullptr, needed, input, output, n, stream);
    if (error != cudaSuccess) return error;
    error = scratch.hold(needed);
    if (error != cudaSuccess) return error;
    return cub::DeviceReduce::Max(scratch.memory, needed, input, output, n, stream);
}
