// Device memory, the program's variables in it, and copies: all of it is mapped into this process.
#include "shared.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <vector>

using namespace stand_in;

namespace {

constexpr uint64_t PAGE = 4096;
constexpr int SLOT_BITS = 36;  // each allocation has so many bits of addresses, as in the emulator
constexpr unsigned MOST_SLOTS = 400;
uint64_t used = 0;  // of the file

std::map<char*, Allocation>& allocations() {
  static auto& of = *new std::map<char*, Allocation>;
  return of;
}

// The next bytes of the file, mapped at an address, or anywhere if it is null.
char* mapped(size_t bytes, uint64_t address) {
  bytes = (bytes + PAGE - 1) / PAGE * PAGE;
  void* wanted = reinterpret_cast<void*>(address / PAGE * PAGE);
  if (used + bytes > SPACE) return nullptr;
  void* got = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | (address ? MAP_FIXED_NOREPLACE : 0),
                   atoi(getenv("EMULATED_MEMORY")), static_cast<off_t>(used));
  if (got == MAP_FAILED) return nullptr;
  used += bytes;
  return static_cast<char*>(got);
}

uint64_t address_of(int slot) {
  static const uint64_t first = (fprintf(out(), "first\n"), answer());
  return first + (static_cast<uint64_t>(slot) << SLOT_BITS);
}

// Whether bytes stay within the allocation in which they begin, if they begin in one.
bool fits(const void* at, size_t bytes) {
  const auto* held = holder(at);
  return !held || static_cast<size_t>(static_cast<const char*>(at) - held->first) + bytes <=
                      held->second.bytes;
}

// Tells the other side that bytes have been written: copied from another allocation, or from
// outside.
void tell_written(const void* to, const void* from, size_t bytes) {
  const Turn turn(turns());
  const auto* held = holder(to);
  if (!held) return;
  const auto* source = holder(from);
  fprintf(out(), "written %d %td %zu %d %td\n", held->second.slot, static_cast<const char*>(to) - held->first, bytes,
          source ? source->second.slot : -1, source ? static_cast<const char*>(from) - source->first : 0);
  fflush(out());
}

}  // namespace

namespace stand_in {

std::map<const void*, Variable>& variables() {
  static auto& of = *new std::map<const void*, Variable>;
  return of;
}

uint64_t bytes_used() { return used; }

cudaError_t allocate(void** at, size_t bytes, cudaMemoryType type) {
  const Turn turn(turns());
  *at = nullptr;
  if (!bytes) return cudaSuccess;
  std::vector<bool> taken(MOST_SLOTS);
  for (const auto& each : allocations()) taken[each.second.slot] = true;
  int slot = 0;
  while (slot < static_cast<int>(MOST_SLOTS) && taken[slot]) ++slot;
  const uint64_t offset = used;
  char* got = slot < static_cast<int>(MOST_SLOTS) ? mapped(bytes, address_of(slot)) : nullptr;
  if (!got) return error(cudaErrorMemoryAllocation);
  allocations()[got] = {bytes, slot, type};
  fprintf(out(), "memory %d %llu %zu\n", slot, static_cast<unsigned long long>(offset), bytes);
  fflush(out());
  *at = got;
  if (type != cudaMemoryTypeDevice) tell_written(got, nullptr, bytes);  // the program writes it itself
  return cudaSuccess;
}

cudaError_t release(void* at) {
  const Turn turn(turns());
  if (!at) return cudaSuccess;
  const auto found = allocations().find(static_cast<char*>(at));
  if (found == allocations().end()) return error(cudaErrorInvalidValue);
  fprintf(out(), "free %d\n", found->second.slot);
  fflush(out());
  munmap(at, found->second.bytes);
  allocations().erase(found);
  return cudaSuccess;
}

const std::pair<char* const, Allocation>* holder(const void* at) {
  const Turn turn(turns());
  const auto address = static_cast<char*>(const_cast<void*>(at));
  auto found = allocations().upper_bound(address);
  if (found == allocations().begin()) return nullptr;
  --found;
  return (address - found->first) >> (SLOT_BITS - 1) ? nullptr : &*found;
}

cudaError_t copy(void* to, const void* from, size_t bytes) {
  if (const cudaError_t failed = context()) return failed;
  if (!fits(to, bytes) || !fits(from, bytes)) return error(cudaErrorInvalidValue);
  memmove(to, from, bytes);
  tell_written(to, from, bytes);
  return cudaSuccess;
}

char* symbol(const void* host) {
  const Turn turn(turns());
  const auto found = variables().find(host);
  if (found == variables().end()) return nullptr;
  Variable& of = found->second;
  if (!of.at) {
    const uint64_t offset = used;
    fprintf(out(), "variable %s %llu %zu\n", of.name.c_str(), static_cast<unsigned long long>(offset),
            of.bytes);
    of.at = mapped(of.bytes, answer());
  }
  return of.at;
}

}  // namespace stand_in

namespace {

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t rows) {
  for (size_t row = 0; row < rows; ++row)
    if (const cudaError_t failed = copy(static_cast<char*>(to) + row * to_pitch,
                                        static_cast<const char*>(from) + row * from_pitch, width))
      return failed;
  return cudaSuccess;
}

cudaError_t fill(void* at, int value, size_t bytes) {
  if (const cudaError_t failed = context()) return failed;
  if (!fits(at, bytes)) return error(cudaErrorInvalidValue);
  memset(at, value, bytes);
  tell_written(at, nullptr, bytes);
  return cudaSuccess;
}

}  // namespace

extern "C" {

CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count, CUstream) {
  for (size_t i = 0; i < count; ++i) reinterpret_cast<unsigned*>(at)[i] = value;
  tell_written(reinterpret_cast<void*>(at), nullptr, count * sizeof value);
  return CUDA_SUCCESS;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* of, const void* at) {
  memset(of, 0, sizeof *of);
  const auto* held = holder(at);
  of->type = held ? held->second.type : cudaMemoryTypeUnregistered;
  of->devicePointer = held ? const_cast<void*>(at) : nullptr;
  of->hostPointer = const_cast<void*>(at);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = SPACE - bytes_used(), *total = SPACE;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** at, size_t bytes) { return allocate(at, bytes, cudaMemoryTypeDevice); }
cudaError_t cudaMallocAsync(void** at, size_t bytes, cudaStream_t) { return cudaMalloc(at, bytes); }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;  // what is allocated in a stream's order has no other pool
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMallocManaged(void** at, size_t bytes, unsigned) {
  return allocate(at, bytes, cudaMemoryTypeManaged);
}
cudaError_t cudaMallocHost(void** at, size_t bytes) { return allocate(at, bytes, cudaMemoryTypeHost); }
cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned) { return cudaMallocHost(at, bytes); }
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return holder(host) ? cudaSuccess : error(cudaErrorInvalidValue);
}
cudaError_t cudaMallocPitch(void** at, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(at, *pitch * height);
}
cudaError_t cudaFree(void* at) { return release(at); }
cudaError_t cudaFreeAsync(void* at, cudaStream_t) { return release(at); }
cudaError_t cudaFreeHost(void* at) { return release(at); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return copy(to, from, bytes);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return issue(stream, [=] { return copy(to, from, bytes); });
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return issue(stream, [=] { return copy_rows(to, to_pitch, from, from_pitch, width, height); });
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) { return fill(at, value, bytes); }
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  return issue(stream, [=] { return fill(at, value, bytes); });
}
cudaError_t cudaMemset2D(void* at, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row)
    if (const cudaError_t failed = fill(static_cast<char*>(at) + row * pitch, value, width))
      return failed;
  return cudaSuccess;
}
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return cudaSuccess;
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaGetSymbolAddress(void** at, const void* of) {
  *at = symbol(of);
  return *at ? cudaSuccess : error(cudaErrorInvalidSymbol);
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* of) {
  const auto found = variables().find(of);
  if (found == variables().end()) return error(cudaErrorInvalidSymbol);
  *bytes = found->second.bytes;
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void* of, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind) {
  char* at = symbol(of);
  if (!at || offset + bytes > variables()[of].bytes) return error(cudaErrorInvalidSymbol);
  return copy(at + offset, from, bytes);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* of, size_t bytes, size_t offset,
                                 cudaMemcpyKind) {
  const char* at = symbol(of);
  if (!at || offset + bytes > variables()[of].bytes) return error(cudaErrorInvalidSymbol);
  return copy(to, at + offset, bytes);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* of, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return issue(stream, [=] { return cudaMemcpyToSymbol(of, from, bytes, offset, kind); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* of, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return issue(stream, [=] { return cudaMemcpyFromSymbol(to, of, bytes, offset, kind); });
}

}  // extern "C"
