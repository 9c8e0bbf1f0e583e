// A stand-in for cuRAND's device functions, for programs that fill their inputs with random numbers.
// Another generator: SplitMix64 (Steele, Lea and Flood, 2014).
#pragma once

#include <cstdint>

struct curandState_t {
  uint64_t state;
};
using curandState = curandState_t;

__device__ inline uint64_t curand_bits(curandState_t* of) {
  uint64_t z = of->state += 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}
__device__ inline void curand_init(uint64_t seed, uint64_t sequence, uint64_t offset, curandState_t* of) {
  of->state = seed + 0xD1B54A32D192ED03 * sequence + offset;
}
__device__ inline double curand_uniform_double(curandState_t* of) {
  return (static_cast<double>(curand_bits(of) >> 11) + 1) / static_cast<double>(uint64_t(1) << 53);
}
__device__ inline float curand_uniform(curandState_t* of) {
  return static_cast<float>(curand_uniform_double(of));
}
__device__ inline double curand_normal_double(curandState_t* of) {
  return sqrt(-2 * log(curand_uniform_double(of))) * cospi(2 * curand_uniform_double(of));
}
__device__ inline float curand_normal(curandState_t* of) {
  return static_cast<float>(curand_normal_double(of));
}
