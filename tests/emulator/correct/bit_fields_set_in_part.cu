// Structs with bit fields, some never set, like the bits between them: they are copied as words.
// LAUNCH k<<<1, 32>>>(unsigned[32], unsigned[128], 1)
// CHECK (a[0] == 2 * (np.arange(32) % 8) + 9).all() and (a[1][2::4] == np.arange(32)).all()
struct Flags {
    unsigned kind : 3, mode : 5;
};
struct Packed {
    unsigned kind : 3, : 7, mode : 5, never_set : 4;
    int sign : 1;
    unsigned : 0;
    unsigned count;
    unsigned low : 1, : 30, high : 1;
};
extern "C" __global__ void k(unsigned* out, unsigned* copies, unsigned one) {
    __shared__ Flags shared[32];
    unsigned t = threadIdx.x;
    Flags flags[2];
    Packed many[3];
#pragma unroll 1
    for (int n = 0; n < 3; n++) {
        flags[n & 1].kind = t;
        many[n].kind = t;
        flags[n & 1].mode = 9;
        many[n].mode = n;
        many[n].sign = 0;
        many[n].count = t;
        many[n].high = 1;
    }
    shared[t] = flags[one];
    __syncthreads();
    Flags other = shared[31 - t];
    Packed copy = many[one];
    ((Flags*)copies)[4 * t] = other;
    *(Packed*)(copies + 4 * t + 1) = copy;
    out[t] = other.mode + (copy.sign < 0 ? 100 : copy.kind) + shared[t].kind + (copy.high ? 0 : 50);
}
