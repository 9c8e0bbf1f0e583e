// Thread 0 keeps a word to itself between barriers; the others must not be reported as reading it.
// LAUNCH k<<<2, 128>>>(float[256], float[2])
// CHECK (a[1] == was[0].reshape(2, 128)[:, 0] * 2 + 1).all()
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float word, other[2];
    unsigned t = threadIdx.x;
    float x = in[blockIdx.x * 128 + t];
    if (t == 0) word = x;
    if (t == 0) other[1] = word + 1.0f;
    float y = t == 0 ? word + other[1] : 0.0f;
    if (t == 0) out[blockIdx.x] = y;
}
