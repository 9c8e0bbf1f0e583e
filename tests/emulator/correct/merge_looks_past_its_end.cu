// A serial merge reads one key past the end of a list, and then does not compare it.
// LAUNCH k<<<2, 64>>>(int[512], int[512])
// CHECK (a[1] == was[0]).all()
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int keys[64 * 4 + 1];
    unsigned t = threadIdx.x, base = blockIdx.x * 256 + t * 4;
    for (int i = 0; i < 4; i++) keys[t * 4 + (i % 2) * 2 + i / 2] = in[base + i];
    __syncthreads();
    int first = t * 4, second = t * 4 + 2, end1 = second, end2 = second + 2;
    int key1 = keys[first], key2 = keys[second];
    for (int i = 0; i < 4; i++) {
        bool take2 = second < end2 && (first >= end1 || key2 < key1);
        out[base + i] = take2 ? key2 : key1;
        if (take2) key2 = keys[++second];
        else key1 = keys[++first];
    }
}
