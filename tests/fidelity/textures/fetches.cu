// Fetches from textures of every kind: out[i] is what the i-th coordinates give, in four channels.
//   any kernel: grid ceil_div(n, 128), block 128, args [texture, out, x, y, z, n]; a layer stands in z
#define FETCH(NAME, T, FETCHED)                                                                   \
    extern "C" __global__ void NAME(cudaTextureObject_t texture, T* out, const float* x,          \
                                    const float* y, const float* z, unsigned int n) {             \
        const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;                             \
        if (i < n) out[i] = FETCHED;                                                              \
    }

#define OF_TYPE(SUFFIX, T)                                                                        \
    FETCH(line_##SUFFIX, T, tex1D<T>(texture, x[i]))                                              \
    FETCH(plane_##SUFFIX, T, tex2D<T>(texture, x[i], y[i]))                                       \
    FETCH(volume_##SUFFIX, T, tex3D<T>(texture, x[i], y[i], z[i]))                                \
    FETCH(layered_line_##SUFFIX, T, tex1DLayered<T>(texture, x[i], static_cast<int>(z[i])))       \
    FETCH(layered_plane_##SUFFIX, T,                                                              \
          tex2DLayered<T>(texture, x[i], y[i], static_cast<int>(z[i])))                           \
    FETCH(cube_##SUFFIX, T, texCubemap<T>(texture, x[i], y[i], z[i]))                             \
    FETCH(memory_##SUFFIX, T, tex1Dfetch<T>(texture, static_cast<int>(floorf(x[i]))))

OF_TYPE(floats, float4)
OF_TYPE(bits, uint4)
