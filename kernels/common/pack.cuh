// Sixteen bytes of any element type, moved by one instruction: four floats, eight halves.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

template <typename T>
struct alignas(16) Pack {
    static constexpr unsigned int width = 16 / sizeof(T);
    T value[width];
};

// Whether each of the pointers is aligned for packs. An allocation starts on a 256-byte boundary,
// but a slice of it need not.
template <typename... T>
__device__ __forceinline__ bool start_on_16_bytes(const T*... pointers) {
    return (reinterpret_cast<std::uintptr_t>(pointers) | ...) % 16 == 0;
}

// Pack number i of an array.
template <typename T>
__device__ __forceinline__ Pack<T> load_pack(const T* values, unsigned int i) {
    return reinterpret_cast<const Pack<T>*>(values)[i];
}

template <typename T>
__device__ __forceinline__ void store_pack(T* values, unsigned int i, const Pack<T>& pack) {
    reinterpret_cast<Pack<T>*>(values)[i] = pack;
}

// The same for data that is not needed again, marked to leave the caches first.
template <typename T>
__device__ __forceinline__ Pack<T> load_pack_once(const T* values, unsigned int i) {
    static_assert(sizeof(Pack<T>) == sizeof(uint4));
    const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(values) + i);
    Pack<T> pack;
    memcpy(&pack, &bits, sizeof pack);
    return pack;
}

template <typename T>
__device__ __forceinline__ void store_pack_once(T* values, unsigned int i, const Pack<T>& pack) {
    uint4 bits;
    memcpy(&bits, &pack, sizeof bits);
    __stcs(reinterpret_cast<uint4*>(values) + i, bits);
}
