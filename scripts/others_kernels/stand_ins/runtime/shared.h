// Declarations shared by the files of the stand-in for the CUDA runtime; programs.py is the other
// side.
//
// Device memory is a file that the other side maps as well (EMULATED_MEMORY, a file descriptor). An
// allocation is mapped at the address that the emulator gives it, so pointers mean the same to
// both, including those in memory. Each launch is written to EMULATED_OUT as lines of text, and the
// program continues when the other side has replied on EMULATED_IN. Work is thus done in the order
// in which it is issued, regardless of its stream, except for what a graph captures. A call that is missing here ends the program
// with a message (programs.build), and an operation that cannot be done returns an error.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace stand_in {

constexpr uint64_t SPACE = uint64_t(1) << 36;  // the most that a program allocates in its time

struct Variable {
  std::string name;
  size_t bytes;
  char* at;  // null until the program asks for it
};
struct Allocation {
  size_t bytes;
  int slot;
  cudaMemoryType type;
};

// What is kept here outlives the program's own objects, which may free memory when it exits.

// Host threads take turns: one line and the reply to it at a time.
using Turn = std::lock_guard<std::recursive_mutex>;
std::recursive_mutex& turns();

FILE* out();
FILE* in();
unsigned long long answer();

std::map<const void*, Variable>& variables();
char* symbol(const void* host);  // a variable's address; null if it has none
uint64_t bytes_used();
cudaError_t allocate(void** at, size_t bytes, cudaMemoryType type);
cudaError_t release(void* at);
const std::pair<char* const, Allocation>* holder(const void* at);
cudaError_t copy(void* to, const void* from, size_t bytes);

// Does a stream's work now or, while the stream is captured, when the graph is launched.
using Work = std::function<cudaError_t()>;
cudaError_t issue(cudaStream_t stream, const Work& work);

cudaError_t error(cudaError_t of);  // keeps it for cudaGetLastError
void break_context();               // after a launch that failed, all that follows fails
cudaError_t context();              // cudaErrorLaunchFailure after that
int multiprocessors();              // EMULATED_SMS

}  // namespace stand_in
