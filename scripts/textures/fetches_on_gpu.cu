// A library that makes a texture or a surface from an array, and runs kernels from fetches.cu or
// accesses.cu on it.

#include <cuda_runtime.h>

#include <cstring>

#include "../../tests/fidelity/textures/accesses.cu"
#include "../../tests/fidelity/textures/fetches.cu"

enum Kind { LINE, PLANE, VOLUME, LAYERED_LINE, LAYERED_PLANE, CUBE, MEMORY };
enum Format { U8, S8, U16, S16, U32, S32, F16, F32 };

struct Asked {
    int kind, width, height, depth, channels, format;
    int address[3];
    int linear, normalized, fractions, floats;
};

#define TRY(CALL)                                              \
    do {                                                       \
        if (const cudaError_t error = (CALL)) return static_cast<int>(error); \
    } while (0)

static int bytes(int format) { return format < U16 ? 1 : format < U32 || format == F16 ? 2 : 4; }

static cudaChannelFormatDesc description(const Asked& a) {
    const auto kind = a.format >= F16  ? cudaChannelFormatKindFloat
                      : a.format % 2   ? cudaChannelFormatKindSigned
                                       : cudaChannelFormatKindUnsigned;
    const int bits = 8 * bytes(a.format), two = a.channels > 1 ? bits : 0;
    const int four = a.channels > 2 ? bits : 0;
    return cudaCreateChannelDesc(bits, two, four, four, kind);
}

static cudaMemcpy3DParms copied(const Asked& a, const void* texels) {
    cudaMemcpy3DParms copy{};
    const size_t texel = size_t(a.channels) * bytes(a.format);
    copy.srcPtr = make_cudaPitchedPtr(const_cast<void*>(texels), a.width * texel, a.width, a.height);
    copy.extent = make_cudaExtent(a.width, a.height, a.depth);
    return copy;
}

static cudaError_t make_array(const Asked& a, const void* texels, unsigned flags, cudaArray_t* array) {
    const auto channel = description(a);
    const bool layered = a.kind == LAYERED_LINE || a.kind == LAYERED_PLANE;
    const bool tall = a.kind != LINE && a.kind != LAYERED_LINE, deep = a.kind >= VOLUME;
    const auto extent = make_cudaExtent(a.width, tall ? a.height : 0, deep ? a.depth : 0);
    flags |= layered ? cudaArrayLayered : a.kind == CUBE ? cudaArrayCubemap : 0;
    if (const cudaError_t error = cudaMalloc3DArray(array, &channel, extent, flags)) return error;
    auto copy = copied(a, texels);
    copy.dstArray = *array;
    copy.kind = cudaMemcpyHostToDevice;
    return cudaMemcpy3D(&copy);
}

template <class T>
static void launch(const Asked& a, cudaTextureObject_t t, void* out, const float* const* at, unsigned n) {
    using Kernel = void (*)(cudaTextureObject_t, T*, const float*, const float*, const float*, unsigned);
    const Kernel floats[] = {
        (Kernel)line_floats, (Kernel)plane_floats, (Kernel)volume_floats, (Kernel)layered_line_floats,
        (Kernel)layered_plane_floats, (Kernel)cube_floats, (Kernel)memory_floats};
    const Kernel bits[] = {(Kernel)line_bits, (Kernel)plane_bits, (Kernel)volume_bits,
                           (Kernel)layered_line_bits, (Kernel)layered_plane_bits, (Kernel)cube_bits,
                           (Kernel)memory_bits};
    (a.floats ? floats : bits)[a.kind]<<<(n + 127) / 128, 128>>>(t, static_cast<T*>(out), at[0], at[1],
                                                               at[2], n);
}

// x, y and z follow one another, n of each. Returns CUDA's error, or 0.
extern "C" int fetched(const Asked* asked, const void* texels, const float* coordinates, unsigned n,
                       void* out) {
    const Asked& a = *asked;
    const auto channel = description(a);
    const size_t texel = size_t(a.channels) * bytes(a.format);
    cudaResourceDesc resource{};
    cudaArray_t array = nullptr;
    void* memory = nullptr;
    if (a.kind == MEMORY) {
        TRY(cudaMalloc(&memory, a.width * texel));
        TRY(cudaMemcpy(memory, texels, a.width * texel, cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = memory;
        resource.res.linear.desc = channel;
        resource.res.linear.sizeInBytes = a.width * texel;
    } else {
        TRY(make_array(a, texels, 0, &array));
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
    }
    const cudaTextureAddressMode modes[] = {cudaAddressModeClamp, cudaAddressModeBorder,
                                            cudaAddressModeWrap, cudaAddressModeMirror};
    cudaTextureDesc description{};
    for (int n = 0; n < 3; n++) description.addressMode[n] = modes[a.address[n]];
    description.filterMode = a.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    description.readMode = a.fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    description.normalizedCoords = a.normalized;
    cudaTextureObject_t texture;
    TRY(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    float* there;
    void* made;
    TRY(cudaMalloc(&there, 3 * n * sizeof(float)));
    TRY(cudaMalloc(&made, n * sizeof(uint4)));
    TRY(cudaMemcpy(there, coordinates, 3 * n * sizeof(float), cudaMemcpyHostToDevice));
    const float* const at[] = {there, there + n, there + 2 * n};
    launch<uint4>(a, texture, made, at, n);
    TRY(cudaDeviceSynchronize());
    TRY(cudaMemcpy(out, made, n * sizeof(uint4), cudaMemcpyDeviceToHost));
    cudaDestroyTextureObject(texture);
    cudaFree(there), cudaFree(made), cudaFree(memory), cudaFreeArray(array);
    return 0;
}

// Loads and stores of that many bytes at n positions, x, y and z one after another. The loaded
// values go to `loaded`; then `values` are stored, and the surface's texels are copied to `stored`.
extern "C" int accessed(const Asked* asked, const void* texels, int size, int clamp, const int* places,
                        unsigned n, const void* values, void* loaded, void* stored) {
    using Kernel = void (*)(cudaSurfaceObject_t, void*, const int*, const int*, const int*, unsigned, int);
#define OF_KIND(KIND, WHAT)                                                                \
    {(Kernel)KIND##_1_##WHAT, (Kernel)KIND##_2_##WHAT, (Kernel)KIND##_4_##WHAT,            \
     (Kernel)KIND##_8_##WHAT, (Kernel)KIND##_16_##WHAT}
#define OF_ALL(WHAT)                                                                       \
    {OF_KIND(line, WHAT), OF_KIND(plane, WHAT), OF_KIND(volume, WHAT),                     \
     OF_KIND(layered_line, WHAT), OF_KIND(layered_plane, WHAT)}
    const Kernel loads[5][5] = OF_ALL(loads), stores[5][5] = OF_ALL(stores);
    const Asked& a = *asked;
    int power = 0;
    while (1 << power < size) power++;
    cudaArray_t array;
    TRY(make_array(a, texels, cudaArraySurfaceLoadStore, &array));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    TRY(cudaCreateSurfaceObject(&surface, &resource));
    int* there;
    void* made;
    TRY(cudaMalloc(&there, 3 * n * sizeof(int)));
    TRY(cudaMalloc(&made, n * size));
    TRY(cudaMemcpy(there, places, 3 * n * sizeof(int), cudaMemcpyHostToDevice));
    loads[a.kind][power]<<<(n + 127) / 128, 128>>>(surface, made, there, there + n, there + 2 * n, n, clamp);
    TRY(cudaDeviceSynchronize());
    TRY(cudaMemcpy(loaded, made, n * size, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(made, values, n * size, cudaMemcpyHostToDevice));
    stores[a.kind][power]<<<1, 1>>>(surface, made, there, there + n, there + 2 * n, n, clamp);
    TRY(cudaDeviceSynchronize());
    auto copy = copied(a, stored);
    copy.dstPtr = copy.srcPtr;
    copy.srcPtr = {};
    copy.srcArray = array;
    copy.kind = cudaMemcpyDeviceToHost;
    TRY(cudaMemcpy3D(&copy));
    cudaDestroySurfaceObject(surface);
    cudaFree(there), cudaFree(made), cudaFreeArray(array);
    return 0;
}
