// `>=` where `>` was meant: the distance is halved from 1 to 0, and 0 >= 0 holds for ever.
// LAUNCH k<<<1, 32>>>(float[64])
extern "C" __global__ void k(float* x) {
    unsigned t = threadIdx.x;
    for (int d = 16; d >= 0; d /= 2) {  // FAULT: budget
        x[t] += 1.0f;  // FAULT: budget
    }
}
