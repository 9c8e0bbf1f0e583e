// x[i] *= 2: every word is read and written where it lies, so that all of it has a history.
//   double_in_place: block any, grid ceil(n / block), args [x, n]
extern "C" __global__ void double_in_place(float* x, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
