// Each thread calls its function from a table of pointers; lanes of a warp call different ones.
// LAUNCH k<<<2, 64>>>(int[128], int[128], 1)
// CHECK (a[1] == [(x + 5, x * x, 7 - x, x + 15)[x % 4] for x in range(128)]).all()
typedef int (*Function)(int, int);
__device__ __noinline__ int sum(int x, int more) { return x + 5 * more; }
__device__ __noinline__ int square(int x, int more) { return x * x * more; }
__device__ __noinline__ int rest(int x, int more) { return 7 * more - x; }
__device__ __noinline__ int nested(int x, int more) { return sum(x, 3 * more); }
__device__ Function table[] = {sum, square, rest, nested};
extern "C" __global__ void k(const int* in, int* out, int one) {
    int i = blockIdx.x * 64 + threadIdx.x;
    out[i] = table[in[i] & 3](in[i], one);
}
