// LtMatmul: y = x W^T (+ y) through cuBLASLt, for one shape.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/cublaslt_api.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

namespace kw::lm::cuda {

// cuBLASLt's handle, and the workspace that its matmuls on one stream share.
class Lt {
 public:
  Lt() = default;
  static Result<Lt> make();
  Lt(Lt&& other) noexcept { *this = std::move(other); }
  Lt& operator=(Lt&& other) noexcept;
  Lt(const Lt&) = delete;
  Lt& operator=(const Lt&) = delete;
  ~Lt();

  const kw::cuda::CublasLtApi& api() const { return *api_; }
  kw::cuda::LtHandle handle() const { return handle_; }
  const kw::cuda::DeviceBuffer& workspace() const { return workspace_; }

 private:
  const kw::cuda::CublasLtApi* api_ = nullptr;
  kw::cuda::LtHandle handle_ = nullptr;
  kw::cuda::DeviceBuffer workspace_;
};

inline constexpr std::size_t kLtWorkspaceBytes = 64ULL << 20U;

struct LtShape {
  std::int64_t rows = 0, n = 0, k = 0;
  std::int64_t pitch = 0;  // of a row of y
  bool float32 = false;    // x and W; bfloat16 otherwise. y is float32
  bool adds = false;       // to what y has
  bool unsplit = false;    // k is not divided among blocks
};

class LtMatmul {
 public:
  // Borrows lt. kUnsupported: cuBLASLt has no way to do it.
  static Result<LtMatmul> make(const Lt& lt, const LtShape& shape);
  // It has one way: the first that cuBLASLt names for this number of rows.
  static Result<LtMatmul> make_as_of(const Lt& lt, const LtShape& shape, std::int64_t rows);
  LtMatmul(LtMatmul&& other) noexcept;
  LtMatmul& operator=(LtMatmul&&) = delete;
  ~LtMatmul();

  // cuBLASLt's algorithms for it, the likely fastest first.
  std::size_t ways() const { return ways_.size(); }
  Status run(std::size_t way, kw::cuda::DevicePointer x, kw::cuda::DevicePointer w,
             kw::cuda::DevicePointer y, const kw::cuda::Stream& stream) const;

 private:
  LtMatmul(const Lt& lt, const LtShape& shape) : lt_(&lt), shape_(shape) {}
  static Result<LtMatmul> describe(const Lt& lt, const LtShape& shape);
  Status find_ways();

  const Lt* lt_;
  LtShape shape_;
  kw::cuda::LtOperation operation_ = nullptr;
  kw::cuda::LtLayout w_ = nullptr, x_ = nullptr, y_ = nullptr;
  std::vector<kw::cuda::LtHeuristic> ways_;
};

}  // namespace kw::lm::cuda
