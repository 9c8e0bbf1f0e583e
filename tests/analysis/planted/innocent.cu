// Changes without any effect: names, the form of a loop, the order of independent statements,
// qualifiers.
__global__ void plain(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float a = 0.0f, b = 1.0f;
    for (unsigned i = t; i < n; i += threads) {
        float x = in[i];
        a += x;
        b *= x;
    }
    out[t] = a + b;
}
__global__ void other_names(const float* source, float* result, unsigned count) {
    unsigned first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    float sum = 0.0f, product = 1.0f;
    for (unsigned at = first; at < count; at += stride) {
        float value = source[at];
        sum += value;
        product *= value;
    }
    result[first] = sum + product;
}
__global__ void while_loop(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float a = 0.0f, b = 1.0f;
    unsigned i = t;
    while (i < n) {
        float x = in[i];
        a += x;
        b *= x;
        i += threads;
    }
    out[t] = a + b;
}
__global__ void other_order(const float* in, float* out, unsigned n) {
    unsigned threads = gridDim.x * blockDim.x, t = threadIdx.x + blockDim.x * blockIdx.x;
    float b = 1.0f, a = 0.0f;
    for (unsigned i = t; i < n; i += threads) {
        float x = in[i];
        b = x * b;
        a = x + a;
    }
    out[t] = b + a;
}
__global__ void restricted(
    const float* __restrict__ in, float* __restrict__ out, const unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float a = 0.0f, b = 1.0f;
    for (unsigned i = t; i < n; i += threads) {
        const float x = in[i];
        a += x;
        b *= x;
    }
    out[t] = a + b;
}
__global__ void array_of_sums(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float both[2] = {0.0f, 1.0f};
    for (unsigned i = t; i < n; i += threads) {
        float x = in[i];
        both[0] += x;
        both[1] *= x;
    }
    out[t] = both[0] + both[1];
}
__global__ void function_object(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float a = 0.0f, b = 1.0f;
    auto add = [&](unsigned i) {
        a += in[i];
        b *= in[i];
    };
    for (unsigned i = t; i < n; i += threads) add(i);
    out[t] = a + b;
}
__device__ __forceinline__ void take(float x, float& a, float& b) {
    a += x;
    b *= x;
}
__global__ void inlined_function(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float a = 0.0f, b = 1.0f;
    for (unsigned i = t; i < n; i += threads) take(in[i], a, b);
    out[t] = a + b;
}
__global__ void dead_code(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float a = 0.0f, b = 1.0f, unused = 0.0f;
    for (unsigned i = t; i < n; i += threads) {
        float x = in[i];
        unused += x * x;
        a += x;
        b *= x;
    }
    out[t] = a + b;
}
