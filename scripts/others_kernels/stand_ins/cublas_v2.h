// The names in cuBLAS that other people's host code uses, so that their files compile without it.
// None is ever called, because only the kernels in these files are launched.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using cublasStatus_t = int;
using cublasHandle_t = void*;
using cublasComputeType_t = int;
using cublasOperation_t = int;
using cublasMath_t = int;

enum {
    CUBLAS_STATUS_SUCCESS, CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
    CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_DEFAULT_MATH, CUBLAS_GEMM_DEFAULT
};

template <class... Any> int cublasCreate(Any...);
template <class... Any> int cublasDestroy(Any...);
template <class... Any> int cublasSetMathMode(Any...);
template <class... Any> int cublasSgemm(Any...);
template <class... Any> int cublasSgemmStridedBatched(Any...);
template <class... Any> int cublasGemmEx(Any...);
template <class... Any> int cublasGemmStridedBatchedEx(Any...);
