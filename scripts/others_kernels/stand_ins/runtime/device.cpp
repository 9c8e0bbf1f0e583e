// The device that a program sees, its errors, and the lines sent to the other side.
#include "shared.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace stand_in;

namespace {

cudaError_t last = cudaSuccess;
bool broken = false;

FILE* stream_of(const char* variable, const char* mode) {
  const char* number = getenv(variable);
  return number ? fdopen(atoi(number), mode) : nullptr;
}

}  // namespace

namespace stand_in {

std::recursive_mutex& turns() {
  static auto& of = *new std::recursive_mutex;
  return of;
}

FILE* out() {
  static FILE* of = stream_of("EMULATED_OUT", "w");
  return of;
}
FILE* in() {
  static FILE* of = stream_of("EMULATED_IN", "r");
  return of;
}

unsigned long long answer() {
  fflush(out());
  unsigned long long said = 0;
  if (!in() || fscanf(in(), "%llu", &said) != 1) exit(3);
  return said;
}

cudaError_t error(cudaError_t of) {
  if (of) last = of;
  return of;
}
void break_context() { broken = true; }
cudaError_t context() { return broken ? cudaErrorLaunchFailure : cudaSuccess; }

int multiprocessors() {
  const char* given = getenv("EMULATED_SMS");
  return given ? atoi(given) : 132;
}

}  // namespace stand_in

extern "C" {

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  switch (what) {
    case cudaDevAttrMultiProcessorCount: *value = multiprocessors(); break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 232448; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 233472; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrTotalConstantMemory: *value = 65536; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrClockRate: *value = 1980000; break;
    case cudaDevAttrMemoryClockRate: *value = 2619000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 5120; break;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrComputeMode:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrIntegrated:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrPciBusId:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrPageableMemoryAccess: *value = 0; break;
    default:
      printf("the stand-in of the runtime has no attribute_%d\n", static_cast<int>(what));
      fflush(stdout);
      _exit(4);
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* of, int) {
  memset(static_cast<void*>(of), 0, sizeof *of);
  strcpy(of->name, "emulated");
  of->major = 9;
  of->totalGlobalMem = SPACE;
  of->totalConstMem = 65536;
  of->multiProcessorCount = multiprocessors();
  of->sharedMemPerBlockOptin = 232448;
  of->sharedMemPerMultiprocessor = 233472;
  of->sharedMemPerBlock = 49152;
  of->regsPerBlock = of->regsPerMultiprocessor = 65536;
  of->maxThreadsPerBlock = of->maxThreadsDim[0] = of->maxThreadsDim[1] = 1024;
  of->maxThreadsDim[2] = 64;
  of->maxGridSize[0] = 2147483647, of->maxGridSize[1] = of->maxGridSize[2] = 65535;
  of->maxThreadsPerMultiProcessor = 2048;
  of->maxBlocksPerMultiProcessor = 32;
  of->l2CacheSize = 50 << 20;
  of->warpSize = 32;
  of->memoryBusWidth = 5120;
  of->asyncEngineCount = 1;
  of->cooperativeLaunch = of->unifiedAddressing = of->managedMemory = 1;
  of->concurrentManagedAccess = of->concurrentKernels = of->canMapHostMemory = 1;
  of->streamPrioritiesSupported = 1;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* of, const void*) {
  memset(static_cast<void*>(of), 0, sizeof *of);
  of->maxThreadsPerBlock = 1024;
  of->ptxVersion = of->binaryVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* count, const void*, const cudaLaunchConfig_t*) {
  *count = multiprocessors() / 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, const void*, int, size_t,
                                                                   unsigned) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, const void*, int, size_t) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t was = last;
  last = context();
  return was;
}
cudaError_t cudaPeekAtLastError() { return last; }
const char* cudaGetErrorString(cudaError_t error) { return error ? "an error" : "no error"; }
const char* cudaGetErrorName(cudaError_t error) { return error ? "cudaError" : "cudaSuccess"; }
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device ? error(cudaErrorInvalidDevice) : cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return context(); }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0, *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
