// Tensor maps, written after a mark as the numbers that the program passed: the other side encodes
// them. Also the look-up of the driver's functions, of which only these exist.
#include "shared.h"

#include <cstring>

namespace {

constexpr uint64_t MARK = 0x50414D524F534E54;

struct Map {  // 128 bytes, in place of a CUtensorMap
  uint64_t mark;
  uint64_t changed;  // CuTe clears a bit of this word, which works around an error of the driver
  uint64_t address;
  uint32_t shape[5];
  uint32_t box[5];
  uint64_t strides[4];
  uint8_t steps[5], element, rank, swizzle, interleave, fill, l2;
};
static_assert(sizeof(Map) <= sizeof(CUtensorMap));

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

}  // extern "C"
