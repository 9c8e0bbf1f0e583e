// The functions with which nvcc's host code registers kernels and variables, and launches.
#include "shared.h"

#include <cstdlib>
#include <vector>

using namespace stand_in;

namespace {

struct Call {
  dim3 grid, block;
  size_t shared;
  void* stream;
};

std::map<const void*, std::string>& names() {
  static std::map<const void*, std::string> of;
  return of;
}
std::vector<Call>& calls() {
  static thread_local std::vector<Call> of;
  return of;
}

cudaError_t launched(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                     dim3 cluster) {
  const Turn turn(turns());
  if (const cudaError_t failed = context()) return failed;
  if (names().count(kernel) == 0) return error(cudaErrorInvalidDeviceFunction);
  for (const unsigned extent : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
    if (!extent) return error(cudaErrorInvalidConfiguration);
  fprintf(out(), "launch %s %u %u %u %u %u %u %zu %u %u %u\n", names()[kernel].c_str(), grid.x, grid.y,
          grid.z, block.x, block.y, block.z, shared, cluster.x, cluster.y, cluster.z);
  fflush(out());
  int count = 0;
  if (fscanf(in(), "%d", &count) != 1) exit(3);
  std::vector<int> sizes(count);
  for (int& size : sizes)
    if (fscanf(in(), "%d", &size) != 1) exit(3);
  for (int i = 0; i < count; ++i) {
    for (int at = 0; at < sizes[i]; ++at)
      fprintf(out(), "%02x", static_cast<unsigned char*>(arguments[i])[at]);
    fputc('\n', out());
  }
  fflush(out());
  constexpr unsigned long long ENOUGH = 1000;  // the program ends, with what it has found so far
  const auto said = answer();
  if (said == ENOUGH) exit(0);
  if (!said) return cudaSuccess;
  break_context();
  return error(cudaErrorLaunchFailure);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle[1];
  return handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* device, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  names()[host] = device;
}
void __cudaRegisterVar(void**, char* host, char*, const char* device, int, size_t bytes, int, int) {
  variables()[host] = {device, bytes, nullptr};
}
void __cudaRegisterManagedVar(void**, void** host, char*, const char* device, int, size_t bytes, int,
                              int) {
  variables()[host] = {device, bytes, nullptr};
  *host = symbol(host);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  calls().push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const Call call = calls().back();
  calls().pop_back();
  *grid = call.grid, *block = call.block, *shared = call.shared;
  *static_cast<void**>(stream) = call.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t) {
  return launched(reinterpret_cast<void*>(kernel), grid, block, arguments, shared, {0, 0, 0});
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t) {
  return launched(kernel, grid, block, arguments, shared, {0, 0, 0});
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t) {
  return launched(kernel, grid, block, arguments, shared, {0, 0, 0});
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void** arguments) {
  dim3 cluster(0, 0, 0);
  for (unsigned i = 0; i < how->numAttrs; ++i)
    if (how->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      const auto& of = how->attrs[i].val.clusterDim;
      cluster = dim3(of.x, of.y, of.z);
    }
  return launched(kernel, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes, cluster);
}

}  // extern "C"
