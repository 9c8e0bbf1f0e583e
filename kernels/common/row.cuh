// A row of a matrix: where it starts, and by 16-byte accesses, wherever that is.
#pragma once

// How many elements stand before a row; 65,536 rows of 131,072 are more than 32 bits can count.
__device__ __forceinline__ unsigned long long row_start(unsigned int row, unsigned int cols) {
    return static_cast<unsigned long long>(row) * cols;
}

// Where the aligned packs of WIDTH elements lie in a row of `cols` elements that starts `start`
// elements into an array aligned to 16 bytes. `head` elements stand before the first pack; pack p
// begins at head + WIDTH * p. What is in no pack, head and tail together, are less than 2 * WIDTH
// single elements: number k stands at single(k).
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
