// Objects of two classes are made on the stack and called through their base.
// LAUNCH k<<<2, 64>>>(int[128], int[128], 2)
// CHECK (a[1] == [(3 * x, x + 2)[x % 3 == 0] for x in range(128)]).all()
struct Shape {
    int x;
    __device__ explicit Shape(int x) : x(x) {}
    __device__ virtual int area(int more) const = 0;
};
struct Wide : Shape {
    using Shape::Shape;
    __device__ __noinline__ int area(int more) const override { return x * (more + 1); }
};
struct Long : Shape {
    using Shape::Shape;
    __device__ __noinline__ int area(int more) const override { return x + more; }
};
extern "C" __global__ void k(const int* in, int* out, int two) {
    int i = blockIdx.x * 64 + threadIdx.x;
    Wide wide(in[i]);
    Long far(in[i]);
    const Shape* shape = in[i] % 3 == 0 ? static_cast<const Shape*>(&far) : &wide;
    out[i] = shape->area(two);
}
