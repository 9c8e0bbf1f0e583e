// Every thread sets the same value and reads it: whoever wrote last, each finds what it wrote itself.
// LAUNCH k<<<3, 96>>>(int[288], int[1])
// CHECK (a[0] == 5 + np.repeat(np.arange(3), 96)).all()
extern "C" __global__ void k(int* out, int* seven) {
    __shared__ int five, here;
    five = 5;
    here = blockIdx.x;
    seven[0] = 7;
    asm volatile("" ::: "memory");  // so that the values are read again
    if (threadIdx.x % 2) five = 5;
    asm volatile("" ::: "memory");
    out[blockIdx.x * 96 + threadIdx.x] = five + here + seven[0] - 7;
}
