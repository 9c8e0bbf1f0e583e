// The product of a part of a row with a vector, by several threads, 16 bytes per load.
#pragma once

// This thread's share of the sum of row[j] x[j], j = 0 .. count, of which `threads` threads compute
// a part each; this one is number `thread`. For any count and any row aligned to 4 bytes.
//
// VECTOR: row and x begin on a 16-byte boundary. Otherwise the row is read from its first such
// boundary on, with up to three single words before it and after the last one; x, which is then
// aligned differently, is read word by word, usually from the L1 cache.
template <bool VECTOR>
__device__ __forceinline__ float row_product(const float* row, const float* x, unsigned int count,
                                             unsigned int thread, unsigned int threads) {
    const unsigned int past = reinterpret_cast<unsigned long long>(row) / sizeof(float) % 4;
    const unsigned int head = VECTOR ? 0 : min(count, (4 - past) % 4);
    const unsigned int fours = (count - head) / 4;
    const float4* row4 = reinterpret_cast<const float4*>(row + head);
    const float* rest = x + head;

    float sum = 0.0f;
#pragma unroll 4
    for (unsigned int j = thread; j < fours; j += threads) {
        const float4 p = row4[j];
        const float4 q = VECTOR ? reinterpret_cast<const float4*>(rest)[j]
                                : make_float4(rest[4 * j], rest[4 * j + 1], rest[4 * j + 2],
                                              rest[4 * j + 3]);
        sum += (p.x * q.x + p.y * q.y) + (p.z * q.z + p.w * q.w);
    }
    if (thread < head) sum += row[thread] * x[thread];
    const unsigned int last = head + 4 * fours + thread;
    if (last < count) sum += row[last] * x[last];
    return sum;
}
