// The bandwidth of device memory for kernels that read more than they write, or write more than
// they read: streams of `count` float4 each, one after the other, some of them read and some
// written. A thread adds up its float4 from the streams that are read, and writes the sum to the
// others. Reading alone and copying are in ceilings.cu. A copy is fastest with one thread per
// float4 and no loop, so these are built in that way.
//
//   mix_4_1, mix_2_1, mix_1_4: grid ceil_div(count, block), args [input, output, count];
//                              16 * (reads + writes) * count bytes
//   write_once:                grid ceil_div(count, block), args [output, count]; 16 * count bytes
//
// input and output are 16-byte aligned; all their streams together are up to 2^30 float4 long.

template <unsigned int reads, unsigned int writes>
__device__ __forceinline__ void mix(const float4* input, float4* output, unsigned int count) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float4 loaded[reads];
#pragma unroll
    for (unsigned int k = 0; k < reads; ++k) {
        loaded[k] = input[i + k * count];
    }
    float4 total = loaded[0];
#pragma unroll
    for (unsigned int k = 1; k < reads; ++k) {
        total.x += loaded[k].x;
        total.y += loaded[k].y;
        total.z += loaded[k].z;
        total.w += loaded[k].w;
    }
#pragma unroll
    for (unsigned int k = 0; k < writes; ++k) {
        output[i + k * count] = total;
    }
}

extern "C" __global__ void mix_4_1(const float4* input, float4* output, unsigned int count) {
    mix<4, 1>(input, output, count);
}

extern "C" __global__ void mix_2_1(const float4* input, float4* output, unsigned int count) {
    mix<2, 1>(input, output, count);
}

extern "C" __global__ void mix_1_4(const float4* input, float4* output, unsigned int count) {
    mix<1, 4>(input, output, count);
}

// Only writes: each float4 contains its own number, four times.
extern "C" __global__ void write_once(float4* output, unsigned int count) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float number = static_cast<float>(i);
    if (i < count) output[i] = make_float4(number, number, number, number);
}
