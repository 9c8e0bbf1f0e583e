// Dynamic shared memory cut into doubles, floats and bytes.
// LAUNCH k<<<2, 32, 416>>>(float[64], double[64])
// CHECK (a[1] == (2.5 * was[0] + 1).reshape(2, 32)[:, ::-1].reshape(-1)).all()
extern "C" __global__ void k(const float* in, double* out) {
    extern __shared__ double doubles[];
    float* floats = reinterpret_cast<float*>(doubles + 32);
    unsigned char* bytes = reinterpret_cast<unsigned char*>(floats + 32);
    unsigned t = threadIdx.x, i = blockIdx.x * 32 + t;
    doubles[t] = 0.5 * in[i];
    floats[t] = 2.0f * in[i];
    bytes[t] = 1;
    __syncthreads();
    out[i] = doubles[31 - t] + floats[31 - t] + bytes[31 - t];
}
