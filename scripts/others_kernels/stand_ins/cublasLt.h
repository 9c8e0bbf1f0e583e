// See cublas_v2.h.
#pragma once

#include "cublas_v2.h"

using cublasLtHandle_t = void*;

template <class... Any> int cublasLtCreate(Any...);
template <class... Any> int cublasLtDestroy(Any...);
