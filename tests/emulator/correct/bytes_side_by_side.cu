// Threads share a word but no byte.
// LAUNCH k<<<2, 64>>>(char[128], char[128])
// CHECK (a[1] == was[0].reshape(2, 64)[:, ::-1].reshape(-1)).all()
extern "C" __global__ void k(const char* in, char* out) {
    __shared__ char s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[63 - t];
}
