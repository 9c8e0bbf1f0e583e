// output[0] = sum of input[0 .. n), float32, by CUB: what the CUDA toolkit itself has for this.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream.
//
// From: cub::DeviceReduce::Sum, CUDA Core Compute Libraries.
#include <cub/device/device_reduce.cuh>

#include <cstddef>

#include "common/scratch.cuh"

extern "C" cudaError_t sum(const float* input, float* output, unsigned int n, cudaStream_t stream) {
    static Scratch scratch;

    std::size_t needed = 0;
    cudaError_t error = cub::DeviceReduce::Sum(nullptr, needed, input, output, n, stream);
    if (error != cudaSuccess) return error;
    error = scratch.hold(needed);
    if (error != cudaSuccess) return error;
    return cub::DeviceReduce::Sum(scratch.memory, needed, input, output, n, stream);
}
