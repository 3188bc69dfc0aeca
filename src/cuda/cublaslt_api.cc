#include "cuda/cublaslt_api.h"

#include "cuda/library.h"

namespace kw::cuda {
namespace {

Result<CublasLtApi> open_cublaslt() {
  CublasLtApi out{};
  KW_TRY(Library library, Library::open("cuBLAS", {"libcublasLt.so.13", "libcublasLt.so.12"}));
  KW_TRY_STATUS(library.find("cublasLtCreate", out.create));
  KW_TRY_STATUS(library.find("cublasLtDestroy", out.destroy));
  KW_TRY_STATUS(library.find("cublasLtMatmulDescCreate", out.operation_create));
  KW_TRY_STATUS(library.find("cublasLtMatmulDescDestroy", out.operation_destroy));
  KW_TRY_STATUS(library.find("cublasLtMatmulDescSetAttribute", out.operation_set));
  KW_TRY_STATUS(library.find("cublasLtMatrixLayoutCreate", out.layout_create));
  KW_TRY_STATUS(library.find("cublasLtMatrixLayoutDestroy", out.layout_destroy));
  KW_TRY_STATUS(library.find("cublasLtMatmulPreferenceCreate", out.preference_create));
  KW_TRY_STATUS(library.find("cublasLtMatmulPreferenceDestroy", out.preference_destroy));
  KW_TRY_STATUS(library.find("cublasLtMatmulPreferenceSetAttribute", out.preference_set));
  KW_TRY_STATUS(library.find("cublasLtMatmulAlgoGetHeuristic", out.heuristics));
  KW_TRY_STATUS(library.find("cublasLtMatmul", out.matmul));
  return out;
}

}  // namespace

Result<const CublasLtApi*> load_cublaslt_api() {
  static const Result<CublasLtApi> loaded = open_cublaslt();
  if (!loaded) return tl::unexpected(loaded.error());
  return &loaded.value();
}

Status cublaslt_status(int result, const char* what) {
  if (result == 0) return {};
  return fail(ErrorCode::kInternal, "{}: cuBLASLt's status {}", what, result);
}

}  // namespace kw::cuda
