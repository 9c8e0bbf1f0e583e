// A word has two written bytes and two of padding; it is copied as a whole and read in parts.
// LAUNCH k<<<1, 32>>>(unsigned[32], unsigned[64])
// CHECK (a[0] == 31 - np.arange(32) + 5).all() and (a[1][:32] % 65536 == 257 * np.arange(32)).all()
extern "C" __global__ void k(unsigned* out, unsigned* copies) {
    __shared__ unsigned words[32];
    unsigned t = threadIdx.x;
    unsigned char* bytes = (unsigned char*)&words[t];
    bytes[0] = bytes[1] = t;
    __syncthreads();
    unsigned word = words[31 - t];
    out[t] = (word >> 8 & 0xff) + 5;
    copies[31 - t] = word;
}
