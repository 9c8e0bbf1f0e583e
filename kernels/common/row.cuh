// A row of a matrix: where it starts, and how to access it by 16 bytes wherever that is.
#pragma once

// The number of elements before a row; 65,536 rows of 131,072 are more than 32 bits can count.
__device__ __forceinline__ unsigned long long row_start(unsigned int row, unsigned int cols) {
    return static_cast<unsigned long long>(row) * cols;
}

// Where the aligned packs of WIDTH elements lie in a row of `cols` elements that starts `start`
// elements into an array aligned to 16 bytes. `head` elements precede the first pack; pack p begins
// at head + WIDTH * p. Elements outside all packs, head and tail together, number less than 2 *
// WIDTH: number k is at single(k).
template <unsigned int WIDTH>
struct Row {
    unsigned int head, packs, singles;

    __device__ __forceinline__ Row(unsigned long long start, unsigned int cols) {
        head = static_cast<unsigned int>(-start % WIDTH);
        if (head > cols) head = cols;
        packs = (cols - head) / WIDTH;
        singles = cols - WIDTH * packs;
    }

    __device__ __forceinline__ unsigned int single(unsigned int k) const {
        return k < head ? k : k + WIDTH * packs;
    }
};
