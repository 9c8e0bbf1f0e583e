// The flag is a bit of the word that has the data: a reader that finds it set has the data, too.
// LAUNCH k<<<2, 32>>>(unsigned[1]=0, unsigned[1]=0)
// CHECK a[1][0] == 77
extern "C" __global__ void k(volatile unsigned* word, unsigned* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *word = 0x80000000u | 77;
    } else {
        unsigned found;
        do found = *word;
        while (!(found >> 31));
        *out = found & 0xffff;
    }
}
