// Loads from and stores to surfaces of every kind, with accesses of every size: x counts bytes.
// Accesses outside a surface go to its nearest element (clamp), or give 0 and store nothing (zero).

#define READ(KIND, SIZE, T, CALL, ...)                                                          \
    extern "C" __global__ void KIND##_##SIZE##_loads(cudaSurfaceObject_t s, T* out, const int* x, \
                                                     const int* y, const int* z, unsigned n,    \
                                                     int clamp) {                               \
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                               \
        if (i >= n) return;                                                                     \
        if (clamp)                                                                              \
            CALL##read(&out[i], s, x[i], ##__VA_ARGS__, cudaBoundaryModeClamp);                 \
        else                                                                                    \
            CALL##read(&out[i], s, x[i], ##__VA_ARGS__, cudaBoundaryModeZero);                  \
    }

// One thread at a time, as several may access the same element.
#define WRITE(KIND, SIZE, T, CALL, ...)                                                           \
    extern "C" __global__ void KIND##_##SIZE##_stores(cudaSurfaceObject_t s, const T* values,     \
                                                      const int* x, const int* y, const int* z,   \
                                                      unsigned n, int clamp) {                    \
        for (unsigned i = 0; i < n; i++) {                                                        \
            if (clamp)                                                                            \
                CALL##write(values[i], s, x[i], ##__VA_ARGS__, cudaBoundaryModeClamp);            \
            else                                                                                  \
                CALL##write(values[i], s, x[i], ##__VA_ARGS__, cudaBoundaryModeZero);             \
        }                                                                                         \
    }

#define BOTH(KIND, SIZE, T, CALL, ...)        \
    READ(KIND, SIZE, T, CALL, ##__VA_ARGS__)  \
    WRITE(KIND, SIZE, T, CALL, ##__VA_ARGS__)

#define EVERY_SIZE(KIND, CALL, ...)                         \
    BOTH(KIND, 1, unsigned char, CALL, ##__VA_ARGS__)       \
    BOTH(KIND, 2, unsigned short, CALL, ##__VA_ARGS__)      \
    BOTH(KIND, 4, unsigned, CALL, ##__VA_ARGS__)            \
    BOTH(KIND, 8, uint2, CALL, ##__VA_ARGS__)               \
    BOTH(KIND, 16, uint4, CALL, ##__VA_ARGS__)

EVERY_SIZE(line, surf1D)
EVERY_SIZE(plane, surf2D, y[i])
EVERY_SIZE(volume, surf3D, y[i], z[i])
EVERY_SIZE(layered_line, surf1DLayered, z[i])
EVERY_SIZE(layered_plane, surf2DLayered, y[i], z[i])
