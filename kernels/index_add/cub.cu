// output[t][c] = sum of source[r][c] over all r with index[r] = t, with the rows' order from CUB: a
// radix sort of the index together with the row numbers. Then each target's rows are adjacent; a
// binary search finds them, and they are added up as in v2_sorted_segments.
//
// Called by the host with the buffers and a stream; everything is enqueued on the stream.
//
// From: cub::DeviceRadixSort::SortPairs, CUDA Core Compute Libraries.
#include <cub/device/device_radix_sort.cuh>

#include <cstddef>

#include "common/scratch.cuh"
#include "index_add/segments.cuh"

__global__ void number(int* order, int rows) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < static_cast<unsigned int>(rows)) order[r] = r;
}

// How many of the sorted numbers are below `bound`.
__device__ __forceinline__ int below(const int* sorted, int count, int bound) {
    int first = 0;
    while (count > 0) {
        const int half = count / 2;
        if (sorted[first + half] < bound) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

__global__ void add_segments(const DTYPE* source, const int* order, const int* sorted,
                             DTYPE* output, int rows, unsigned int cols) {
    const int target = blockIdx.x;
    const int begin = below(sorted, rows, target);
    const int end = begin + below(sorted + begin, rows - begin, target + 1);
    add_segment(source, order, begin, end, output, cols);
}

extern "C" cudaError_t index_add(const DTYPE* source, const int* index, int* numbers, int* order,
                                 int* sorted, DTYPE* output, int rows, unsigned int cols,
                                 int targets, cudaStream_t stream) {
    static Scratch scratch;
    constexpr int block = 128;

    int bits = 1;  // of an index
    while (bits < 31 && (targets - 1) >> bits) bits++;
    std::size_t needed = 0;
    cudaError_t error = cub::DeviceRadixSort::SortPairs(nullptr, needed, index, sorted, numbers,
                                                        order, rows, 0, bits, stream);
    if (error != cudaSuccess) return error;
    error = scratch.hold(needed);
    if (error != cudaSuccess) return error;
    number<<<(rows - 1) / block + 1, block, 0, stream>>>(numbers, rows);
    error = cub::DeviceRadixSort::SortPairs(scratch.memory, needed, index, sorted, numbers, order,
                                            rows, 0, bits, stream);
    if (error != cudaSuccess) return error;
    add_segments<<<targets, block, block * sizeof(float), stream>>>(source, order, sorted, output,
                                                                    rows, cols);
    return cudaGetLastError();
}
