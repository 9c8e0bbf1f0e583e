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

// The bytes of a kernel's arguments, which the program may change after the call.
std::vector<std::string> kept(const std::string& kernel, void** arguments) {
  fprintf(out(), "sizes %s\n", kernel.c_str());
  fflush(out());
  int count = 0;
  if (fscanf(in(), "%d", &count) != 1) exit(3);
  std::vector<std::string> all(count);
  for (int i = 0; i < count; ++i) {
    int size = 0;
    if (fscanf(in(), "%d", &size) != 1) exit(3);
    all[i].assign(static_cast<char*>(arguments[i]), size);
  }
  return all;
}

cudaError_t launch(const std::string& kernel, dim3 grid, dim3 block, const std::vector<std::string>& arguments,
                   size_t shared, dim3 cluster) {
  const Turn turn(turns());
  if (const cudaError_t failed = context()) return failed;
  fprintf(out(), "launch %s %u %u %u %u %u %u %zu %u %u %u\n", kernel.c_str(), grid.x, grid.y, grid.z, block.x,
          block.y, block.z, shared, cluster.x, cluster.y, cluster.z);
  for (const std::string& each : arguments) {
    for (const char byte : each) fprintf(out(), "%02x", static_cast<unsigned char>(byte));
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

cudaError_t launched(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                     dim3 cluster, cudaStream_t stream) {
  const Turn turn(turns());
  if (const cudaError_t failed = context()) return failed;
  if (names().count(kernel) == 0) return error(cudaErrorInvalidDeviceFunction);
  for (const unsigned extent : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
    if (!extent) return error(cudaErrorInvalidConfiguration);
  const std::string name = names()[kernel];
  const auto own = kept(name, arguments);
  return issue(stream, [=] { return launch(name, grid, block, own, shared, cluster); });
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
                               size_t shared, cudaStream_t stream) {
  return launched(reinterpret_cast<void*>(kernel), grid, block, arguments, shared, {0, 0, 0}, stream);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launched(kernel, grid, block, arguments, shared, {0, 0, 0}, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  return launched(kernel, grid, block, arguments, shared, {0, 0, 0}, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void** arguments) {
  dim3 cluster(0, 0, 0);
  for (unsigned i = 0; i < how->numAttrs; ++i)
    if (how->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      const auto& of = how->attrs[i].val.clusterDim;
      cluster = dim3(of.x, of.y, of.z);
    }
  return launched(kernel, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes, cluster, how->stream);
}

}  // extern "C"
