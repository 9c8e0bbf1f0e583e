// output[i] = sum of input[0 .. i], float32, by CUB: what the CUDA toolkit itself has for this.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream.
//
// From: cub::DeviceScan::InclusiveSum, CUDA Core Compute Libraries.
#include <cub/device/device_scan.cuh>

#include <cstddef>

#include "common/scratch.cuh"

extern "C" cudaError_t scan(const float* input, float* output, int n, cudaStream_t stream) {
    static Scratch scratch;

    std::size_t needed = 0;
    cudaError_t error = cub::DeviceScan::InclusiveSum(nullptr, needed, input, output, n, stream);
    if (error != cudaSuccess) return error;
    error = scratch.hold(needed);
    if (error != cudaSuccess) return error;
    return cub::DeviceScan::InclusiveSum(scratch.memory, needed, input, output, n, stream);
}
