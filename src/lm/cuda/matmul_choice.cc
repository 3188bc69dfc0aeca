// The ways to do a matmul are found and timed here.
#include <algorithm>

#include "lm/cuda/matmuls.h"

namespace kw::lm::cuda {
namespace {

constexpr std::size_t kTimedTilings = 3;  // of each variant
constexpr std::size_t kTimedWays = 3;     // of each matmul, in whole layers

}  // namespace

// Rows of logits lie at a multiple of 8, whatever their number.
bool Matmuls::own_can(MatmulKind kind) const {
  const MatmulPlace& p = place(kind);
  return !setting_.float32 && p.k % kMatmulStep == 0 && (p.n % 8 == 0 || kind == MatmulKind::kHead);
}

bool Matmuls::can_join(const MatmulRows& rows) const {
  return rows.phase == Phase::kDecode && rows.count <= kFewRows &&
         std::all_of(kLayerMatmuls.begin(), kLayerMatmuls.end(),
                     [&](MatmulKind kind) { return own_can(kind); });
}

Status Matmuls::prepare_layer(const MatmulRows& of, const Attention& attention) {
  if (is_prepared(of)) return {};
  const std::int64_t rows = of.count;
  LayerPlans chosen;
  if (can_join(of)) {
    KW_TRY(LayerWays ways, joined_ways(rows));
    KW_TRY(chosen, fastest_layer(ways, true, rows, attention));
    if (attention && !is_invariant()) {
      KW_TRY_STATUS(make_separate(ways, rows));
      KW_TRY(LayerPlans separate, fastest_layer(ways, false, rows, attention));
      if (separate.us < chosen.us) chosen = std::move(separate);
    }
  } else {
    for (MatmulKind kind : kLayerMatmuls) {
      KW_TRY(std::vector<Plan> ways, separate_ways(kind, rows));
      KW_TRY(ways, ranked(std::move(ways), kind, rows));
      chosen.plans[static_cast<std::size_t>(kind)] = std::move(ways.front());
    }
  }
  layers_.emplace(of, std::move(chosen));
  return {};
}

Status Matmuls::prepare_head(std::int64_t rows) {
  if (heads_.contains(rows)) return {};
  KW_TRY(std::vector<Plan> ways, separate_ways(MatmulKind::kHead, rows));
  KW_TRY(ways, ranked(std::move(ways), MatmulKind::kHead, rows));
  heads_.emplace(rows, std::move(ways.front()));
  return {};
}

Result<Matmuls::LayerWays> Matmuls::joined_ways(std::int64_t rows) {
  LayerWays out;
  for (MatmulKind kind : kLayerMatmuls) {
    KW_TRY(std::vector<Plan> ways, own_plans(kind, rows, true));
    KW_TRY(out[static_cast<std::size_t>(kind)], ranked(std::move(ways), kind, rows));
  }
  return out;
}

// Our own matmuls with q, k, v and gate_up are those of joined ones, which are timed already.
Status Matmuls::make_separate(LayerWays& ways, std::int64_t rows) {
  for (MatmulKind kind : kLayerMatmuls) {
    std::vector<Plan>& some = ways[static_cast<std::size_t>(kind)];
    if (adds_to_residual(kind)) {
      KW_TRY(some, separate_ways(kind, rows));
    } else {
      KW_TRY_STATUS(add_lt(kind, rows, some));
    }
    KW_TRY(some, ranked(std::move(some), kind, rows));
  }
  return {};
}

// Whole layers are timed: first with the fastest way of each matmul, then with each of the next
// fastest in its place, then each with a later start of the next kernel.
Result<Matmuls::LayerPlans> Matmuls::fastest_layer(const LayerWays& ways, bool joined,
                                                   std::int64_t rows, const Attention& attention) {
  LayerPlans out;
  out.joined = joined;
  for (std::size_t i = 0; i < ways.size(); ++i) out.plans[i] = ways[i].front();
  if (!attention) return out;
  KW_TRY(out.us, time_layer(out, rows, attention));
  for (std::size_t i = 0; i < ways.size(); ++i) {
    for (std::size_t way = 1; way < std::min(ways[i].size(), kTimedWays); ++way)
      KW_TRY_STATUS(try_layer(out, i, ways[i][way], rows, attention));
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!out.plans[i].own) continue;
    Plan late = out.plans[i];
    late.early = false;
    KW_TRY_STATUS(try_layer(out, i, late, rows, attention));
  }
  return out;
}

Status Matmuls::try_layer(LayerPlans& best, std::size_t matmul, const Plan& plan, std::int64_t rows,
                          const Attention& attention) {
  LayerPlans other = best;
  other.plans[matmul] = plan;
  KW_TRY(other.us, time_layer(other, rows, attention));
  if (other.us < best.us) best = std::move(other);
  return {};
}

Result<std::vector<Matmuls::Plan>> Matmuls::separate_ways(MatmulKind kind, std::int64_t rows) {
  if (is_invariant()) return plain_ways(kind, rows);
  std::vector<Plan> out;
  if (own_can(kind) && rows <= kFewRows) {
    KW_TRY(out, own_plans(kind, rows, false));
  }
  KW_TRY_STATUS(add_lt(kind, rows, out));
  return out;
}

LtShape Matmuls::lt_shape(MatmulKind kind, std::int64_t rows) const {
  const MatmulPlace& p = place(kind);
  LtShape out;
  out.rows = rows;
  out.n = p.n;
  out.k = p.k;
  out.pitch = kind == MatmulKind::kHead ? targets_.logit_pitch : p.n;
  out.float32 = setting_.float32;
  out.adds = adds_to_residual(kind);
  out.unsplit = is_invariant();
  return out;
}

Status Matmuls::add_lt(MatmulKind kind, std::int64_t rows, std::vector<Plan>& out) const {
  KW_TRY(LtMatmul made, LtMatmul::make(lt_, lt_shape(kind, rows)));
  auto lt = std::make_shared<LtMatmul>(std::move(made));
  const std::size_t ways = rows > kMaxTimedRows && !is_invariant() ? 1 : lt->ways();
  for (std::size_t way = 0; way < ways; ++way) {
    Plan plan;
    plan.lt = lt;
    plan.way = way;
    out.push_back(std::move(plan));
  }
  return {};
}

// The cheapest tiling of a variant by tiling_cost. whole: the matmul cannot be split.
std::vector<MatmulTiling> Matmuls::tilings(const MatmulVariant& variant, const MatmulSize& size,
                                           bool whole) const {
  const int unit = width_unit(variant.output);
  if (whole) return {best_tiling(size, 1, variant.columns, unit)};
  if (is_invariant()) return {best_tiling(size, fixed_splits(size), variant.columns, unit)};
  std::vector<MatmulTiling> out;
  for (int splits : possible_splits(size.k))
    out.push_back(best_tiling(size, splits, variant.columns, unit));
  std::stable_sort(out.begin(), out.end(), [&](const MatmulTiling& a, const MatmulTiling& b) {
    return tiling_cost(size, a) < tiling_cost(size, b);
  });
  out.resize(std::min(out.size(), kTimedTilings));
  return out;
}

Result<std::vector<Matmuls::Plan>> Matmuls::own_plans(MatmulKind kind, std::int64_t rows,
                                                      bool joined) const {
  const MatmulSize size{rows, place(kind).n, place(kind).k, setting_.multiprocessors};
  const bool whole =
      kind == MatmulKind::kGateUp || kind == MatmulKind::kHead || (is_invariant() && !joined);
  const MatmulOutput output = kind == MatmulKind::kGateUp        ? MatmulOutput::kSilu
                              : joined && adds_to_residual(kind) ? MatmulOutput::kResidual
                                                                 : MatmulOutput::kParts;
  std::vector<Plan> out;
  for (std::size_t i = 0; i < kernels_.matmuls.size(); ++i) {
    if (kernels_.matmuls[i].output != output) continue;
    for (const MatmulTiling& tiling : tilings(kernels_.matmuls[i], size, whole)) {
      KW_TRY(Plan plan, own_plan(kind, rows, i, tiling));
      out.push_back(std::move(plan));
    }
  }
  return out;
}

Result<Matmuls::Plan> Matmuls::own_plan(MatmulKind kind, std::int64_t rows, std::size_t variant,
                                        const MatmulTiling& tiling) const {
  const MatmulPlace& p = place(kind);
  Plan out;
  out.own = variant;
  out.tiling = tiling;
  KW_TRY(out.x, kw::cuda::map_of_boxes(p.x, rows, p.k, static_cast<int>(kMatmulRows)));
  const int box = kind == MatmulKind::kGateUp ? tiling.width / 2 : tiling.width;
  for (DevicePointer weights : p.weights) {
    KW_TRY(kw::cuda::TensorMap map, kw::cuda::map_of_boxes(weights, p.n, p.k, box));
    out.weights.push_back(map);
  }
  return out;
}

// The ways that work, the fastest first.
Result<std::vector<Matmuls::Plan>> Matmuls::ranked(std::vector<Plan> plans, MatmulKind kind,
                                                   std::int64_t rows) {
  constexpr double kFails = 1e30;  // a way that cuBLASLt offers and then refuses
  for (Plan& plan : plans) {
    if (plans.size() == 1 || plan.us > 0) continue;
    auto timed = time(plan, kind, rows);
    plan.us = timed ? *timed + adding_us(plan, kind, rows) : kFails;
  }
  std::erase_if(plans, [](const Plan& plan) { return plan.us == kFails; });
  std::stable_sort(plans.begin(), plans.end(),
                   [](const Plan& a, const Plan& b) { return a.us < b.us; });
  if (plans.empty())
    return fail(ErrorCode::kInternal, "no matmul {} of {} rows works", to_string(kind), rows);
  return plans;
}

std::string Matmuls::describe(MatmulKind kind, std::int64_t rows, const Plan& plan) const {
  std::string way = fmt::format("cuBLASLt {}", plan.way);
  if (plan.own) {
    const MatmulVariant& variant = kernels_.matmuls[*plan.own];
    way = fmt::format("own {} of {}x{} split {}{}", plan.tiling.width, variant.columns,
                      variant.stages, plan.tiling.splits, plan.early ? "" : " late");
  }
  return fmt::format("{} {}: {}, {:.1f} us", to_string(kind), rows, way, plan.us);
}

std::vector<std::string> Matmuls::choices() const {
  std::vector<std::string> out;
  for (const auto& [rows, layer] : layers_) {
    out.push_back(fmt::format("{} {} rows {}, a layer {:.1f} us",
                              rows.phase == Phase::kPrefill ? "prompts," : "decoding,", rows.count,
                              layer.joined ? "joined" : "separate", layer.us));
    for (MatmulKind kind : kLayerMatmuls)
      out.push_back(describe(kind, rows.count, layer.plans[static_cast<std::size_t>(kind)]));
  }
  for (const auto& [rows, plan] : heads_) out.push_back(describe(MatmulKind::kHead, rows, plan));
  return out;
}

}  // namespace kw::lm::cuda
