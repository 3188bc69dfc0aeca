// cuBLASLt counts in columns: our row major W [n, k] is its [k, n], transposed here, our x [rows,
// k] its [k, rows], and our y [rows, n] its [n, rows]. What lies transposed with us is the other
// way round with it.
#include "cuda/lt_matmul.h"

#include <array>
#include <utility>

namespace kw::cuda {

Result<Lt> Lt::make() {
  Lt out;
  KW_TRY(out.api_, load_cublaslt_api());
  KW_TRY_STATUS(cublaslt_status(out.api_->create(&out.handle_), "cannot start cuBLASLt"));
  KW_TRY(out.workspace_, DeviceBuffer::make(kLtWorkspaceBytes));
  return out;
}

Lt& Lt::operator=(Lt&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(handle_, other.handle_);
  workspace_ = std::move(other.workspace_);
  return *this;
}

Lt::~Lt() {
  if (handle_ != nullptr) api_->destroy(handle_);
}

Result<LtMatmul> LtMatmul::make(const Lt& lt, const LtShape& shape) {
  KW_TRY(LtMatmul out, describe(lt, shape));
  KW_TRY_STATUS(out.find_ways());
  return out;
}

Result<LtMatmul> LtMatmul::make_as_of(const Lt& lt, const LtShape& shape, std::int64_t rows) {
  LtShape other = shape;
  other.rows = rows;
  KW_TRY(LtMatmul known, make(lt, other));
  KW_TRY(LtMatmul out, describe(lt, shape));
  out.ways_ = {known.ways_.front()};
  return out;
}

Result<LtMatmul> LtMatmul::make_as(const Lt& lt, const LtShape& shape,
                                   const LtAlgorithm& algorithm) {
  KW_TRY(LtMatmul out, describe(lt, shape));
  LtHeuristic way{};
  way.algorithm = algorithm;
  out.ways_ = {way};
  return out;
}

Result<LtMatmul> LtMatmul::describe(const Lt& lt, const LtShape& shape) {
  LtMatmul out(lt, shape);
  const auto& api = lt.api();
  const int type = shape.float32 ? kLtFloat32 : kLtBFloat16;
  const int y_type = shape.narrow ? kLtBFloat16 : kLtFloat32;
  KW_TRY_STATUS(
      cublaslt_status(api.operation_create(&out.operation_, kLtCompute32, kLtFloat32), "a matmul"));
  const std::int32_t w_transposed = shape.w_transposed ? 0 : kLtTransposed,
                     x_transposed = shape.x_transposed ? kLtTransposed : 0;
  for (const auto& [attribute, value] :
       {std::pair(kLtTransA, &w_transposed), std::pair(kLtTransB, &x_transposed)})
    KW_TRY_STATUS(
        cublaslt_status(api.operation_set(out.operation_, attribute, value, sizeof(std::int32_t)),
                        "a matmul's transposition"));
  auto make_layout = [&api](LtLayout& layout, int of, std::int64_t height, std::int64_t width,
                            std::int64_t pitch) {
    return cublaslt_status(
        api.layout_create(&layout, of, static_cast<std::uint64_t>(width),
                          static_cast<std::uint64_t>(height), pitch > 0 ? pitch : width),
        "a layout");
  };
  auto make_operand = [&](LtLayout& layout, std::int64_t height, bool lies_transposed,
                          std::int64_t pitch) {
    return lies_transposed ? make_layout(layout, type, shape.k, height, pitch)
                           : make_layout(layout, type, height, shape.k, pitch);
  };
  KW_TRY_STATUS(make_operand(out.w_, shape.n, shape.w_transposed, shape.w_pitch));
  KW_TRY_STATUS(make_operand(out.x_, shape.rows, shape.x_transposed, shape.x_pitch));
  KW_TRY_STATUS(make_layout(out.y_, y_type, shape.rows, shape.n, shape.pitch));
  return out;
}

Status LtMatmul::find_ways() {
  const auto& api = lt_->api();
  LtPreference preference = nullptr;
  KW_TRY_STATUS(cublaslt_status(api.preference_create(&preference), "a matmul's preference"));
  const std::uint64_t workspace = lt_->workspace().bytes();
  Status asked = cublaslt_status(
      api.preference_set(preference, kLtMaxWorkspace, &workspace, sizeof(workspace)),
      "a matmul's workspace");
  const std::uint32_t none = 0;
  if (asked && shape_.unsplit)
    asked =
        cublaslt_status(api.preference_set(preference, kLtReductionSchemes, &none, sizeof(none)),
                        "a matmul's reduction");
  if (shape_.alignment != kLtUsualAlignment)
    for (const int operand : kLtMinAlignments)
      if (asked)
        asked = cublaslt_status(
            api.preference_set(preference, operand, &shape_.alignment, sizeof(shape_.alignment)),
            "a matmul's alignment");
  std::array<LtHeuristic, kMaxLtWays> found{};
  int count = 0;
  if (asked)
    asked = cublaslt_status(api.heuristics(lt_->handle(), operation_, w_, x_, y_, y_, preference,
                                           static_cast<int>(found.size()), found.data(), &count),
                            "no way to multiply matrices of this shape");
  api.preference_destroy(preference);
  KW_TRY_STATUS(asked);
  for (int i = 0; i < count; ++i)
    if (found[static_cast<std::size_t>(i)].state == 0)
      ways_.push_back(found[static_cast<std::size_t>(i)]);
  if (ways_.empty())
    return fail(ErrorCode::kUnsupported, "cuBLASLt cannot multiply [{}, {}] by [{}, {}]",
                shape_.rows, shape_.k, shape_.k, shape_.n);
  return {};
}

LtMatmul::LtMatmul(LtMatmul&& other) noexcept
    : lt_(other.lt_),
      shape_(other.shape_),
      operation_(std::exchange(other.operation_, nullptr)),
      w_(std::exchange(other.w_, nullptr)),
      x_(std::exchange(other.x_, nullptr)),
      y_(std::exchange(other.y_, nullptr)),
      ways_(std::move(other.ways_)) {}

LtMatmul::~LtMatmul() {
  const auto& api = lt_->api();
  if (operation_ != nullptr) api.operation_destroy(operation_);
  for (LtLayout layout : {w_, x_, y_})
    if (layout != nullptr) api.layout_destroy(layout);
}

Status LtMatmul::run(std::size_t way, DevicePointer x, DevicePointer w, DevicePointer y,
                     const Stream& stream) const {
  const float alpha = 1, beta = shape_.adds ? 1 : 0;
  auto pointer = [](DevicePointer address) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
    return reinterpret_cast<void*>(address);
  };
  const auto& workspace = lt_->workspace();
  return cublaslt_status(
      lt_->api().matmul(lt_->handle(), operation_, &alpha, pointer(w), w_, pointer(x), x_, &beta,
                        pointer(y), y_, pointer(y), y_, &ways_.at(way).algorithm,
                        pointer(workspace.address()), workspace.bytes(), stream.get()),
      "a matmul failed");
}

}  // namespace kw::cuda
