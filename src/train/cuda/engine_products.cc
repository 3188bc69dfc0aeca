#include "train/cuda/engine_products.h"

#include <limits>

#include "cuda/tensor_map.h"
#include "lm/cuda/matmul_tiling.h"
#include "train/cuda/launch.h"

namespace kw::train::cuda {

namespace engine = lm::cuda;

int EngineProducts::decode_splits(const at::Tensor& w) const {
  return engine::fixed_splits({1, w.size(0), w.size(1), multiprocessors_});
}

void EngineProducts::run(engine::MatmulOutput output, const at::Tensor& x, const at::Tensor& w,
                         int splits, engine::MatmulInput in) const {
  const std::int64_t rows = x.size(0), n = w.size(0), k = w.size(1);
  TORCH_CHECK(x.size(1) == k && k % engine::kMatmulStep == 0, "an engine's product of ", k);
  if (rows == 0) return;
  const engine::MatmulSize size{rows, n, k, multiprocessors_};
  const engine::MatmulVariant* best = nullptr;
  engine::MatmulTiling tiling;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const engine::MatmulVariant& one : variants_) {
    if (one.output != output) continue;
    const auto some = engine::best_tiling(size, splits, one.columns, engine::width_unit(output));
    const std::int64_t cost = engine::tiling_cost(size, some);
    if (cost >= least) continue;
    least = cost;
    best = &one;
    tiling = some;
  }
  TORCH_CHECK(best != nullptr, "no kernel for an engine's product");
  in.x =
      checked(kw::cuda::map_of_boxes(address(x), rows, k, static_cast<int>(engine::kMatmulRows)));
  const bool halves = output == engine::MatmulOutput::kSilu;
  in.w =
      checked(kw::cuda::map_of_boxes(address(w), n, k, halves ? tiling.width / 2 : tiling.width));
  in.part_rows = rows;
  if (in.pitch == 0) in.pitch = n;
  in.rows = static_cast<std::int32_t>(rows);
  in.n = static_cast<std::int32_t>(n);
  in.k = static_cast<std::int32_t>(k);
  in.early = 1;
  const LaunchShape shape = best->launch_shape(tiling.width, splits, in);
  launch(best->function, shape, in);
}

void EngineProducts::multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const {
  engine::MatmulInput in{};
  in.y = reinterpret_cast<DevicePointer>(y.const_data_ptr());
  in.pitch = y.stride(0);
  run(engine::MatmulOutput::kParts, x, w, 1, in);
}

}  // namespace kw::train::cuda
