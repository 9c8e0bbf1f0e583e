// Inputs, and a comparison with expected results, for programs that launch third-party kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace checked {

inline double next() {  // evenly from -1 to 1
  static uint64_t state = 88172645463325252;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return static_cast<double>(state >> 11) / static_cast<double>(uint64_t(1) << 52) - 1;
}

// Values of a type in device memory, and the same values as doubles.
template <class T>
struct Array {
  T* device = nullptr;
  std::vector<double> values;

  Array(size_t count, double low, double high) : values(count) {
    std::vector<T> own(count);
    for (size_t i = 0; i < count; ++i) {
      own[i] = T(static_cast<float>(low + (next() + 1) / 2 * (high - low)));
      values[i] = static_cast<float>(own[i]);
    }
    cudaMalloc(reinterpret_cast<void**>(&device), count * sizeof(T));
    cudaMemcpy(device, own.data(), count * sizeof(T), cudaMemcpyHostToDevice);
  }
  const std::vector<double>& read() {
    std::vector<T> own(values.size());
    cudaMemcpy(own.data(), device, own.size() * sizeof(T), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < own.size(); ++i) values[i] = static_cast<float>(own[i]);
    return values;
  }
};

// Print the distance from the expected values, relative to the largest value; return 1 if it
// exceeds `most`.
inline int compared(const char* what, const std::vector<double>& got, const std::vector<double>& wanted,
                    double most) {
  double furthest = 0, largest = 0;
  bool finite = true;
  for (size_t i = 0; i < wanted.size(); ++i) {
    furthest = std::fmax(furthest, std::fabs(got[i] - wanted[i]));
    largest = std::fmax(largest, std::fabs(wanted[i]));
    finite = finite && std::isfinite(got[i]);
  }
  const double share = furthest / largest;
  const bool right = finite && share <= most;
  std::printf("%s: furthest %.2g of the largest: %s\n", what, share, right ? "right" : "WRONG");
  return !right;
}

// softmax(q k^T scale) v of one head, with rows of that many values; causal: a row sees keys up to
// its own.
inline std::vector<double> attention(const double* q, const double* k, const double* v, int rows,
                                     int width, bool causal) {
  std::vector<double> out(static_cast<size_t>(rows) * width), of(rows);
  for (int i = 0; i < rows; ++i) {
    const int seen = causal ? i + 1 : rows;
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < seen; ++j) {
      of[j] = 0;
      for (int d = 0; d < width; ++d) of[j] += q[i * width + d] * k[j * width + d];
      of[j] /= std::sqrt(static_cast<double>(width));
      most = std::fmax(most, of[j]);
    }
    for (int j = 0; j < seen; ++j) sum += of[j] = std::exp(of[j] - most);
    for (int j = 0; j < seen; ++j)
      for (int d = 0; d < width; ++d) out[i * width + d] += of[j] / sum * v[j * width + d];
  }
  return out;
}

}  // namespace checked
