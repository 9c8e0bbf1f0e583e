// Structs pass through shared and local memory to the output, with unset words of padding.
// LAUNCH k<<<2, 64>>>(int[128], float[512]=7, int[512]=7)
// CHECK (a[2][::4] == was[0].reshape(2, 64)[:, ::-1].reshape(-1)).all() and (a[1][2::4] == a[2][::4] + 2).all()
struct __align__(16) Point {
    float x, y, z;
};
struct Entry {
    int key;
    double weight;
};
extern "C" __global__ void k(const int* in, Point* points, Entry* entries) {
    __shared__ Point s[64];
    __shared__ Entry e[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t].x = in[i];
    s[t].y = in[i] + 1;
    s[t].z = in[i] + 2;
    e[t].key = in[i];
    e[t].weight = 0.5;
    __syncthreads();
    points[i] = s[63 - t];
    entries[i] = e[63 - t];
}
