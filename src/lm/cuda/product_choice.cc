// Choosing how products are done: the ways there are, timed.
#include <algorithm>

#include "lm/cuda/products.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Event;
using kw::cuda::GraphExec;
using kw::cuda::LaunchShape;

constexpr std::int64_t kTimedRows = 2048;  // more: a product takes so long that any good way does
constexpr std::size_t kTimedLayers = 16;   // their weights together do not fit the L2 cache
constexpr std::size_t kTimedTilings = 3;   // of each variant
constexpr double kAddingBytesPerUs = 2.5e6;

}  // namespace

// Rows of logits lie at a multiple of 8, whatever their number.
bool Products::own_can(ProductKind kind) const {
  const ProductPlace& p = place(kind);
  return !setting_.float32 && p.k % kProductStep == 0 &&
         (p.n % 8 == 0 || kind == ProductKind::kHead);
}

bool Products::takes_own(ProductKind kind, std::int64_t rows) const {
  return own_can(kind) && (setting_.choice == ProductChoice::kFixedOrder || rows <= kFewRows);
}

bool Products::can_join(std::int64_t rows) const {
  return std::all_of(kLayerProducts.begin(), kLayerProducts.end(),
                     [&](ProductKind kind) { return takes_own(kind, rows); });
}

double Products::LayerPlans::us() const {
  double out = 0;
  for (const Plan& plan : plans) out += plan.us;
  return out;
}

Status Products::prepare_layer(std::int64_t rows) {
  if (layers_.contains(rows)) return {};
  const bool fixed = setting_.choice == ProductChoice::kFixedOrder;
  LayerPlans chosen;
  if (can_join(rows)) {
    KW_TRY(chosen, joined_plans(rows));
    if (!fixed) {
      KW_TRY(LayerPlans separate, separate_plans(rows, &chosen));
      if (separate.us() < chosen.us()) chosen = std::move(separate);
    }
  } else {
    KW_TRY(chosen, separate_plans(rows, nullptr));
  }
  layers_.emplace(rows, std::move(chosen));
  return {};
}

Status Products::prepare_head(std::int64_t rows) {
  if (heads_.contains(rows)) return {};
  KW_TRY(std::vector<Plan> ways, separate_ways(ProductKind::kHead, rows));
  KW_TRY(Plan plan, fastest(std::move(ways), ProductKind::kHead, rows));
  heads_.emplace(rows, std::move(plan));
  return {};
}

Result<Products::LayerPlans> Products::joined_plans(std::int64_t rows) {
  LayerPlans out;
  out.joined = true;
  for (ProductKind kind : kLayerProducts) {
    KW_TRY(std::vector<Plan> ways, own_plans(kind, rows, true));
    KW_TRY(out.plans[static_cast<std::size_t>(kind)], fastest(std::move(ways), kind, rows));
  }
  return out;
}

// Our own products with q, k, v and gate_up are those of joined ones, which are timed already.
Result<Products::LayerPlans> Products::separate_plans(std::int64_t rows, const LayerPlans* joined) {
  LayerPlans out;
  for (ProductKind kind : kLayerProducts) {
    const auto index = static_cast<std::size_t>(kind);
    std::vector<Plan> ways;
    if (joined != nullptr && !adds_to_residual(kind)) {
      ways = {joined->plans[index]};
      KW_TRY_STATUS(add_lt(kind, rows, ways));
    } else {
      KW_TRY(ways, separate_ways(kind, rows));
    }
    KW_TRY(out.plans[index], fastest(std::move(ways), kind, rows));
  }
  return out;
}

Result<std::vector<Products::Plan>> Products::separate_ways(ProductKind kind,
                                                            std::int64_t rows) const {
  std::vector<Plan> out;
  if (takes_own(kind, rows)) {
    KW_TRY(out, own_plans(kind, rows, false));
    if (setting_.choice == ProductChoice::kFixedOrder) return out;
  }
  KW_TRY_STATUS(add_lt(kind, rows, out));
  return out;
}

Status Products::add_lt(ProductKind kind, std::int64_t rows, std::vector<Plan>& out) const {
  const ProductPlace& p = place(kind);
  LtShape shape;
  shape.rows = rows;
  shape.n = p.n;
  shape.k = p.k;
  shape.pitch = kind == ProductKind::kHead ? targets_.logit_pitch : p.n;
  shape.float32 = setting_.float32;
  shape.adds = adds_to_residual(kind);
  KW_TRY(LtProduct made, LtProduct::make(lt_, shape));
  auto lt = std::make_shared<LtProduct>(std::move(made));
  const bool one = setting_.choice == ProductChoice::kFixedOrder || rows > kTimedRows;
  const std::size_t ways = one ? 1 : lt->ways();
  for (std::size_t way = 0; way < ways; ++way) {
    Plan plan;
    plan.lt = lt;
    plan.way = way;
    out.push_back(std::move(plan));
  }
  return {};
}

// The cheapest by count, of a variant. Whole: the product cannot be split.
std::vector<ProductTiling> Products::tilings(const ProductVariant& variant, const ProductSize& size,
                                             bool whole) const {
  const int unit = width_unit(variant.output);
  if (whole) return {best_tiling(size, 1, variant.columns, unit)};
  if (setting_.choice == ProductChoice::kFixedOrder)
    return {best_tiling(size, fixed_splits(size), variant.columns, unit)};
  std::vector<ProductTiling> out;
  for (int splits : possible_splits(size.k))
    out.push_back(best_tiling(size, splits, variant.columns, unit));
  std::stable_sort(out.begin(), out.end(), [&](const ProductTiling& a, const ProductTiling& b) {
    return tiling_cost(size, a) < tiling_cost(size, b);
  });
  out.resize(std::min(out.size(), kTimedTilings));
  return out;
}

Result<std::vector<Products::Plan>> Products::own_plans(ProductKind kind, std::int64_t rows,
                                                        bool joined) const {
  const ProductSize size{rows, place(kind).n, place(kind).k, setting_.multiprocessors};
  const bool whole = kind == ProductKind::kGateUp || kind == ProductKind::kHead;
  const ProductOutput output = kind == ProductKind::kGateUp       ? ProductOutput::kSilu
                               : joined && adds_to_residual(kind) ? ProductOutput::kResidual
                                                                  : ProductOutput::kParts;
  std::vector<Plan> out;
  for (std::size_t i = 0; i < kernels_.products.size(); ++i) {
    if (kernels_.products[i].output != output) continue;
    for (const ProductTiling& tiling : tilings(kernels_.products[i], size, whole)) {
      KW_TRY(Plan plan, own_plan(kind, rows, i, tiling));
      out.push_back(std::move(plan));
    }
  }
  return out;
}

Result<Products::Plan> Products::own_plan(ProductKind kind, std::int64_t rows, std::size_t variant,
                                          const ProductTiling& tiling) const {
  const ProductPlace& p = place(kind);
  Plan out;
  out.own = variant;
  out.tiling = tiling;
  KW_TRY(out.x, kw::cuda::map_of_boxes(p.x, rows, p.k, static_cast<int>(kProductRows)));
  const int box = kind == ProductKind::kGateUp ? tiling.width / 2 : tiling.width;
  for (DevicePointer weights : p.weights) {
    KW_TRY(kw::cuda::TensorMap map, kw::cuda::map_of_boxes(weights, p.n, p.k, box));
    out.weights.push_back(map);
  }
  return out;
}

Result<Products::Plan> Products::fastest(std::vector<Plan> plans, ProductKind kind,
                                         std::int64_t rows) {
  std::size_t best = 0;
  for (std::size_t i = 0; plans.size() > 1 && i < plans.size(); ++i) {
    if (plans[i].us == 0) {
      // A way that cuBLASLt offers and then refuses is one less.
      auto timed = time(plans[i], kind, rows);
      plans[i].us = timed ? *timed + adding_us(plans[i], kind, rows) : 1e30;
    }
    if (plans[i].us < plans[best].us) best = i;
  }
  if (plans.empty() || plans[best].us >= 1e30)
    return fail(ErrorCode::kInternal, "no product {} of {} rows works", to_string(kind), rows);
  return std::move(plans[best]);
}

// Parts are read by the attention, beyond what it would read anyway.
double Products::adding_us(const Plan& plan, ProductKind kind, std::int64_t rows) const {
  if (!plan.own || kind != ProductKind::kQkv) return 0;
  return static_cast<double>(plan.tiling.splits * rows * place(kind).n * 4) / kAddingBytesPerUs;
}

Status Products::run_timed(const Plan& plan, ProductKind kind, std::size_t layer,
                           std::int64_t rows) {
  KW_TRY(PartCount parts, run_plan(plan, kind, layer, rows, plan.own.has_value()));
  if (!adds_to_residual(kind) || adds_itself(plan)) return {};
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(rows);
  shape.threads = 256;
  shape.overlaps = setting_.overlap;
  return kernels_.norm.launch(stream_, shape, norm_after(kind, layer, rows, parts));
}

// A graph of one product of each of several layers, so that weights come from memory and the host
// does not hold the GPU up. Each comes after a small kernel, as in a step: what a product loads
// while that runs is its gain.
Result<double> Products::time(const Plan& plan, ProductKind kind, std::int64_t rows) {
  const std::size_t layers = std::min(kTimedLayers, place(kind).weights.size());
  LaunchShape small;
  small.grid[0] = 64;
  small.threads = 256;
  small.overlaps = setting_.overlap;
  const auto floats = std::min<std::int64_t>(
      64 * 1024, static_cast<std::int64_t>(targets_.part_floats));  // 64 blocks, as of 64 rows
  auto all = [&]() -> Status {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      KW_TRY_STATUS(kernels_.fill.launch(stream_, small, targets_.parts, floats, 0.0F));
      KW_TRY_STATUS(run_timed(plan, kind, layer, rows));
    }
    return {};
  };
  KW_TRY_STATUS(all());  // loads what is loaded late
  KW_TRY_STATUS(stream_.synchronize());
  KW_TRY(GraphExec graph, stream_.capture(all));
  KW_TRY(Event before, Event::make());
  KW_TRY(Event after, Event::make());
  double best = 1e30;
  for (int round = 0; round < 3; ++round) {
    KW_TRY_STATUS(stream_.record(before));
    KW_TRY_STATUS(stream_.launch(graph));
    KW_TRY_STATUS(stream_.record(after));
    KW_TRY_STATUS(after.synchronize());
    KW_TRY(double ms, kw::cuda::elapsed_ms(before, after));
    best = std::min(best, ms * 1000 / static_cast<double>(layers));
  }
  return best;
}

std::string Products::describe(ProductKind kind, std::int64_t rows, const Plan& plan) const {
  std::string way = fmt::format("cuBLASLt {}", plan.way);
  if (plan.own) {
    const ProductVariant& variant = kernels_.products[*plan.own];
    way = fmt::format("own {} of {}x{} split {}", plan.tiling.width, variant.columns,
                      variant.stages, plan.tiling.splits);
  }
  return fmt::format("{} {}: {}, {:.1f} us", to_string(kind), rows, way, plan.us);
}

std::vector<std::string> Products::choices() const {
  std::vector<std::string> out;
  for (const auto& [rows, layer] : layers_) {
    out.push_back(fmt::format("{} rows {}", rows, layer.joined ? "joined" : "separate"));
    for (ProductKind kind : kLayerProducts)
      out.push_back(describe(kind, rows, layer.plans[static_cast<std::size_t>(kind)]));
  }
  for (const auto& [rows, plan] : heads_) out.push_back(describe(ProductKind::kHead, rows, plan));
  return out;
}

}  // namespace kw::lm::cuda
