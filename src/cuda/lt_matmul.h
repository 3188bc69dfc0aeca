// LtMatmul: y = x W^T (+ y) through cuBLASLt, for one shape.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/cublaslt_api.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

namespace kw::cuda {

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

  const CublasLtApi& api() const { return *api_; }
  LtHandle handle() const { return handle_; }
  const DeviceBuffer& workspace() const { return workspace_; }

 private:
  const CublasLtApi* api_ = nullptr;
  LtHandle handle_ = nullptr;
  DeviceBuffer workspace_;
};

inline constexpr std::size_t kLtWorkspaceBytes = 64ULL << 20U;

inline constexpr std::size_t kMaxLtWays = 8;             // that are asked for
inline constexpr std::uint32_t kLtUsualAlignment = 256;  // what cuBLASLt expects unless told

// x [rows, k], W [n, k] and y [rows, n], row by row.
struct LtShape {
  std::int64_t rows = 0, n = 0, k = 0;
  std::int64_t pitch = 0;  // of a row of y, in numbers; pitches of 0: there is no gap
  std::int64_t x_pitch = 0, w_pitch = 0;        // of a row as it lies
  bool float32 = false;                         // x and W; bfloat16 otherwise
  bool narrow = false;                          // y is bfloat16; float32 otherwise
  bool adds = false;                            // to what y has
  bool unsplit = false;                         // k is not divided among blocks
  bool x_transposed = false;                    // x lies as [k, rows]
  bool w_transposed = false;                    // W lies as [n, k] transposed: [k, n]
  std::uint32_t alignment = kLtUsualAlignment;  // bytes: x, W and y begin at multiples of it
};

class LtMatmul {
 public:
  // Borrows lt. kUnsupported: cuBLASLt has no way to do it.
  static Result<LtMatmul> make(const Lt& lt, const LtShape& shape);
  // It has one way: the first that cuBLASLt names for this number of rows.
  static Result<LtMatmul> make_as_of(const Lt& lt, const LtShape& shape, std::int64_t rows);
  // It has one way: that of another shape's.
  static Result<LtMatmul> make_as(const Lt& lt, const LtShape& shape, const LtAlgorithm& algorithm);
  LtMatmul(LtMatmul&& other) noexcept;
  LtMatmul& operator=(LtMatmul&&) = delete;
  ~LtMatmul();

  // cuBLASLt's algorithms for it, the likely fastest first.
  std::size_t ways() const { return ways_.size(); }
  const LtAlgorithm& algorithm(std::size_t way) const { return ways_.at(way).algorithm; }
  Status run(std::size_t way, DevicePointer x, DevicePointer w, DevicePointer y,
             const Stream& stream) const;

 private:
  LtMatmul(const Lt& lt, const LtShape& shape) : lt_(&lt), shape_(shape) {}
  static Result<LtMatmul> describe(const Lt& lt, const LtShape& shape);
  Status find_ways();

  const Lt* lt_;
  LtShape shape_;
  LtOperation operation_ = nullptr;
  LtLayout w_ = nullptr, x_ = nullptr, y_ = nullptr;
  std::vector<LtHeuristic> ways_;
};

}  // namespace kw::cuda
