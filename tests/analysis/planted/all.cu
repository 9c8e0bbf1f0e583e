// All pairs in one unit, so that the compiler is started once.
#include "global_memory.cu"
#include "shared_memory.cu"
#include "atomics.cu"
#include "execution.cu"
#include "innocent.cu"
