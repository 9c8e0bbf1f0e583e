// A stand-in for the CUDA runtime, with which a program of others runs its kernels in the emulator.
//
// Device memory is a file that the other side maps as well (EMULATED_MEMORY, a file descriptor). Each
// launch is written to EMULATED_OUT as lines of text, and the program goes on when the other side has
// answered on EMULATED_IN: scripts/others_kernels/programs.py. Tensor maps are written as the numbers
// that the program gave, behind a mark; the other side encodes them.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace {

constexpr uint64_t FIRST = 0x510000000000, SPACE = uint64_t(1) << 34, MARK = 0x50414D524F534E54;
constexpr int DEVICE_SMS = 132;

struct Map {  // 128 bytes, in place of a CUtensorMap
  uint64_t mark, address;
  uint32_t shape[5];
  uint32_t box[5];
  uint64_t strides[4];
  uint8_t steps[5], element, rank, swizzle, interleave, fill, l2;
};
static_assert(sizeof(Map) <= sizeof(CUtensorMap));

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
  static std::vector<Call> of;
  return of;
}
uint64_t used = 0;
cudaError_t last = cudaSuccess;

FILE* stream_of(const char* variable, const char* mode) {
  const char* number = getenv(variable);
  return number ? fdopen(atoi(number), mode) : nullptr;
}
FILE* out() {
  static FILE* of = stream_of("EMULATED_OUT", "w");
  return of;
}
FILE* in() {
  static FILE* of = stream_of("EMULATED_IN", "r");
  return of;
}

char* memory() {
  static char* at = [] {
    void* got = mmap(reinterpret_cast<void*>(FIRST), SPACE, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED_NOREPLACE, atoi(getenv("EMULATED_MEMORY")), 0);
    if (got == MAP_FAILED) abort();
    return static_cast<char*>(got);
  }();
  return at;
}

cudaError_t launched(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                     dim3 cluster) {
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
  int answer = 0;
  if (fscanf(in(), "%d", &answer) != 1) exit(3);
  return last = static_cast<cudaError_t>(answer);
}

}  // namespace

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType element, cuuint32_t rank, void* address,
                      const cuuint64_t* shape, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* steps, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                      CUtensorMapFloatOOBfill fill) {
  Map made{};
  made.mark = MARK;
  made.address = reinterpret_cast<uint64_t>(address);
  for (cuuint32_t i = 0; i < rank; ++i) {
    made.shape[i] = static_cast<uint32_t>(shape[i]);
    made.box[i] = box[i];
    made.steps[i] = static_cast<uint8_t>(steps[i]);
    if (i + 1 < rank) made.strides[i] = strides[i];
  }
  made.element = element;
  made.rank = static_cast<uint8_t>(rank);
  made.swizzle = swizzle;
  made.interleave = interleave;
  made.fill = fill;
  made.l2 = l2;
  memset(static_cast<void*>(map), 0, sizeof *map);
  memcpy(static_cast<void*>(map), &made, sizeof made);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "refused by the emulator";
  return CUDA_SUCCESS;
}

}  // extern "C"

namespace {

void* entry(const char* name) {
  if (!strcmp(name, "cuTensorMapEncodeTiled")) return reinterpret_cast<void*>(cuTensorMapEncodeTiled);
  if (!strncmp(name, "cuGetErrorString", 16)) return reinterpret_cast<void*>(cuGetErrorString);
  fprintf(stderr, "the stand-in of the runtime has no %s\n", name);
  return nullptr;
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
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
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
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void** arguments) {
  dim3 cluster(0, 0, 0);
  for (unsigned i = 0; i < how->numAttrs; ++i)
    if (how->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      const auto& of = how->attrs[i].val.clusterDim;
      cluster = dim3(of.x, of.y, of.z);
    }
  return launched(kernel, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes, cluster);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* of, const void* at) {
  memset(of, 0, sizeof *of);
  const auto address = reinterpret_cast<uint64_t>(at);
  of->type = FIRST <= address && address < FIRST + SPACE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  of->devicePointer = const_cast<void*>(at);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = SPACE - used, *total = SPACE;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** at, size_t bytes) {
  *at = memory() + used;
  fprintf(out(), "memory %llu %zu\n", static_cast<unsigned long long>(used), bytes);
  fflush(out());
  used += (bytes + 4095) / 4096 * 4096 + 4096;
  return used < SPACE ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMallocAsync(void** at, size_t bytes, cudaStream_t) { return cudaMalloc(at, bytes); }
cudaError_t cudaMallocHost(void** at, size_t bytes) {
  *at = malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void*) { return cudaSuccess; }
cudaError_t cudaFreeAsync(void*, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaFreeHost(void* at) {
  free(at);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  memmove(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) {
  memset(at, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t) {
  return cudaMemset(at, value, bytes);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* of, int) {
  memset(static_cast<void*>(of), 0, sizeof *of);
  strcpy(of->name, "emulated");
  of->major = 9;
  of->multiProcessorCount = DEVICE_SMS;
  of->sharedMemPerBlockOptin = 232448;
  of->sharedMemPerMultiprocessor = 233472;
  of->sharedMemPerBlock = 49152;
  of->maxThreadsPerBlock = 1024;
  of->warpSize = 32;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  switch (what) {
    case cudaDevAttrMultiProcessorCount: *value = DEVICE_SMS; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 232448; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    default: *value = 1024;
  }
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* of, const void*) {
  memset(static_cast<void*>(of), 0, sizeof *of);
  of->maxThreadsPerBlock = 1024;
  of->ptxVersion = of->binaryVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* count, const void*, const cudaLaunchConfig_t*) {
  *count = DEVICE_SMS / 2;
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
cudaError_t cudaGetDriverEntryPoint(const char* name, void** at, unsigned long long,
                                    cudaDriverEntryPointQueryResult* found) {
  *at = entry(name);
  if (found) *found = *at ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** at, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *at = entry(name);
  if (found) *found = *at ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t was = last;
  last = cudaSuccess;
  return was;
}
cudaError_t cudaPeekAtLastError() { return last; }
const char* cudaGetErrorString(cudaError_t error) { return error ? "an error" : "no error"; }
const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t*) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}

}  // extern "C"
