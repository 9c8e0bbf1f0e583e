// A kernel that measures its own duration, to determine the cost of two events around a launch.
//
// It reads like the kernels that are timed: many blocks, each a strided share of an array, and a few
// stores at the end. Each block stores when it began and when it ended, by the device's nanosecond
// clock; the kernel's time is from the first beginning to the last end, without anything before its
// first instruction and after its last.
//
// grid     any; block any; args [marks, values, count, sink]
// marks two 64-bit words per block: when it began, when it ended values 16-byte aligned, count its
// length in float4 sink one float, never written: the sum is compared with a NaN that no sum
// produces
//
// %globaltimer advances in steps, of 32 ns on a Hopper and of a microsecond on older cards. A
// launch falls anywhere between two steps, so the steps cancel in the mean over launches.
extern "C" __global__ void read_and_time(unsigned long long* marks, const float4* values,
                                         unsigned int count, float* sink) {
    unsigned long long began;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    const unsigned int threads = gridDim.x * blockDim.x;
    float x = 0.0f;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
        const float4 v = values[i];
        x += (v.x + v.y) + (v.z + v.w);
    }
    if (__float_as_uint(x) == 0x7fc0beefu) *sink = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long ended;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ended));
        marks[2 * blockIdx.x] = began;
        marks[2 * blockIdx.x + 1] = ended;
    }
}
