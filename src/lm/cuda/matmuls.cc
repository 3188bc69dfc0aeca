#include "lm/cuda/matmuls.h"

#include <algorithm>

#include "base/check.h"
#include "base/present.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::LaunchShape;

}  // namespace

std::string_view to_string(MatmulKind kind) {
  constexpr std::array<std::string_view, kMatmulKinds.size()> kNames = {"qkv", "output", "gate_up",
                                                                        "down", "head"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t Matmuls::part_floats(const ModelConfig& c, const Setting& setting, std::int64_t rows) {
  const std::int64_t qkv = c.query_width() + 2 * c.kv_width(), widest = std::max(qkv, c.hidden);
  const std::int64_t split_rows = std::min(rows, kFewRows);  // more are not split
  std::int64_t floats = std::max(rows * std::max(widest, 2 * c.intermediate),
                                 setting.float32 ? 0 : kMaxMatmulSplits * split_rows * widest);
  return static_cast<std::size_t>(floats);
}

bool Matmuls::adds_itself(const Plan& plan) const {
  return plan.own && kernels_.matmuls[*plan.own].output == MatmulOutput::kResidual;
}

Result<PartCount> Matmuls::run(MatmulKind kind, std::size_t layer, const MatmulRows& rows) {
  if (kind == MatmulKind::kHead) {
    auto head = heads_.find(rows.count);
    KW_CHECK(head != heads_.end());
    return run_plan(head->second, kind, layer, rows.count, false);
  }
  auto found = layers_.find(rows);
  KW_CHECK(found != layers_.end());
  // The embedding's norm is a kernel of its own.
  const bool factors = found->second.joined && !(kind == MatmulKind::kQkv && layer == 0);
  return run_plan(found->second.plans[static_cast<std::size_t>(kind)], kind, layer, rows.count,
                  factors);
}

Result<PartCount> Matmuls::run_plan(const Plan& plan, MatmulKind kind, std::size_t layer,
                                    std::int64_t rows, bool factors) {
  if (!plan.own) return run_lt(plan, kind, layer, rows);
  KW_TRY_STATUS(run_own(plan, kind, layer, rows, factors));
  const bool parts = kind == MatmulKind::kQkv || (adds_to_residual(kind) && !adds_itself(plan));
  return parts ? plan.tiling.splits : 0;
}

// factors: the x of qkv and gate_up is not normalised yet.
Status Matmuls::run_own(const Plan& plan, MatmulKind kind, std::size_t layer, std::int64_t rows,
                        bool factors) {
  const MatmulPlace& p = place(kind);
  MatmulInput in{};
  in.x = plan.x;
  in.w = plan.weights[layer];
  in.part_rows = rows;
  in.pitch = p.n;
  in.y = targets_.parts;
  in.epsilon = setting_.epsilon;
  if (factors && (kind == MatmulKind::kQkv || kind == MatmulKind::kGateUp))
    in.squares = targets_.squares;
  if (kind == MatmulKind::kGateUp) {
    in.y = targets_.activated;
    in.bias = p.biases[layer];
  } else if (kind == MatmulKind::kHead) {
    in.y = targets_.logits;
    in.pitch = targets_.logit_pitch;
  } else if (adds_itself(plan)) {
    in.y = targets_.residual;
    in.bias = p.biases[layer];
    in.norm = p.norms[layer];
    in.next = targets_.normed;
    in.next_squares = targets_.squares;
  } else {
    KW_CHECK(static_cast<std::size_t>(plan.tiling.splits * rows * p.n) <= targets_.part_floats);
  }
  in.rows = static_cast<std::int32_t>(rows);
  in.n = static_cast<std::int32_t>(p.n);
  in.k = static_cast<std::int32_t>(p.k);
  in.early = plan.early ? 1 : 0;
  const MatmulVariant& variant = kernels_.matmuls[present(plan.own)];
  LaunchShape shape = variant.launch_shape(plan.tiling.width, plan.tiling.splits, in);
  shape.overlaps = setting_.overlap;
  return variant.function.launch(stream_, shape, in);
}

NormInput Matmuls::norm_after(MatmulKind kind, std::size_t layer, std::int64_t part_rows,
                              PartCount parts) const {
  NormInput out{};
  out.residual = targets_.residual;
  out.parts = targets_.parts;
  out.part_rows = part_rows;
  out.part_count = parts;
  out.bias = place(kind).biases[layer];
  out.weight = place(kind).norms[layer];
  out.out = targets_.normed;
  out.keep = parts > 0 || out.bias != 0 ? 1 : 0;
  out.epsilon = setting_.epsilon;
  return out;
}

Result<PartCount> Matmuls::run_lt(const Plan& plan, MatmulKind kind, std::size_t layer,
                                  std::int64_t rows) {
  const MatmulPlace& p = place(kind);
  switch (kind) {
    case MatmulKind::kQkv:
      KW_TRY_STATUS(plan.lt->run(plan.way, p.x, p.weights[layer], targets_.parts, stream_));
      return 1;
    case MatmulKind::kOutput:
    case MatmulKind::kDown:
      KW_TRY_STATUS(plan.lt->run(plan.way, p.x, p.weights[layer], targets_.residual, stream_));
      return 0;
    case MatmulKind::kHead:
      KW_TRY_STATUS(plan.lt->run(plan.way, p.x, p.weights[layer], targets_.logits, stream_));
      return 0;
    case MatmulKind::kGateUp:
      break;
  }
  KW_TRY_STATUS(plan.lt->run(plan.way, p.x, p.weights[layer], targets_.parts, stream_));
  const std::int64_t fours = rows * (p.n / 2) / 4;
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(std::clamp<std::int64_t>(divided_up(fours, 256), 1, 16384));
  shape.threads = 256;
  shape.overlaps = setting_.overlap;
  KW_TRY_STATUS(kernels_.silu.launch(stream_, shape, targets_.parts, p.biases[layer],
                                     targets_.activated, fours));
  return 0;
}

}  // namespace kw::lm::cuda
