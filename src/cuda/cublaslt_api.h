// The part of cuBLASLt that we call: names, values and layouts of cublasLt.h (CUDA 12 and 13).
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "cuda/driver_api.h"

namespace kw::cuda {

using LtHandle = struct LtHandleTag*;
using LtOperation = struct LtOperationTag*;
using LtLayout = struct LtLayoutTag*;
using LtPreference = struct LtPreferenceTag*;

inline constexpr int kLtFloat32 = 0, kLtBFloat16 = 14;  // cudaDataType
inline constexpr int kLtCompute32 = 68;                 // CUBLAS_COMPUTE_32F: no TF32
inline constexpr int kLtTransA = 3;                     // CUBLASLT_MATMUL_DESC_TRANSA
inline constexpr int kLtTransB = 4;                     // CUBLASLT_MATMUL_DESC_TRANSB
inline constexpr int kLtTransposed = 1;                 // CUBLAS_OP_T
inline constexpr int kLtMaxWorkspace = 1;               // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
inline constexpr int kLtReductionSchemes = 3;  // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
// CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES and those of B, C and D.
inline constexpr int kLtMinAlignments[] = {5, 6, 7, 8};

struct LtAlgorithm {
  std::uint64_t data[8];
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes;
  int state;  // 0: usable
  float waves;
  int reserved[4];
};
static_assert(sizeof(LtHeuristic) == 96);

struct CublasLtApi {
  int (*create)(LtHandle*);
  int (*destroy)(LtHandle);
  int (*operation_create)(LtOperation*, int compute_type, int scale_type);
  int (*operation_destroy)(LtOperation);
  int (*operation_set)(LtOperation, int attribute, const void*, std::size_t);
  int (*layout_create)(LtLayout*, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t leading);
  int (*layout_destroy)(LtLayout);
  int (*preference_create)(LtPreference*);
  int (*preference_destroy)(LtPreference);
  int (*preference_set)(LtPreference, int attribute, const void*, std::size_t);
  int (*heuristics)(LtHandle, LtOperation, LtLayout a, LtLayout b, LtLayout c, LtLayout d,
                    LtPreference, int wanted, LtHeuristic*, int* found);
  int (*matmul)(LtHandle, LtOperation, const void* alpha, const void* a, LtLayout, const void* b,
                LtLayout, const void* beta, const void* c, LtLayout, void* d, LtLayout,
                const LtAlgorithm*, void* workspace, std::size_t workspace_bytes, StreamHandle);
};

// Loaded once, at the first call. kUnsupported says what this machine lacks.
Result<const CublasLtApi*> load_cublaslt_api();
Status cublaslt_status(int result, const char* what);

}  // namespace kw::cuda
