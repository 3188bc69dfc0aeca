#include "lm/cuda/products.h"

#include <algorithm>

#include "base/check.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Event;
using kw::cuda::GraphExec;
using kw::cuda::LaunchShape;

constexpr std::int64_t kStep = 64;  // of k, in product.cu
constexpr int kMaxSplits = 16;
constexpr std::int64_t kFewRows = 256;     // up to so many, our own product may be the faster one
constexpr std::int64_t kTimedRows = 2048;  // more: a product takes so long that any good way does
constexpr std::size_t kTimedLayers = 16;   // their weights together do not fit the L2 cache
constexpr double kAddingBytesPerUs = 2.5e6;

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Splits of k that each have work: the last may have less.
int used_splits(std::int64_t k, int splits) {
  const std::int64_t steps = divided_up(k / kStep, splits);
  return static_cast<int>(divided_up(k / kStep, steps));
}

}  // namespace

std::string_view to_string(ProductKind kind) {
  constexpr std::array<std::string_view, kProductKinds.size()> names = {"qkv", "output", "gate_up",
                                                                        "down", "head"};
  return names[static_cast<std::size_t>(kind)];
}

std::size_t Products::part_floats(const ModelConfig& c, const Setting& setting, std::int64_t rows) {
  const std::int64_t qkv = c.query_width() + 2 * c.kv_width(), widest = std::max(qkv, c.hidden);
  const bool many_split = setting.choice == ProductChoice::kFixedOrder;
  const std::int64_t split_rows = many_split ? rows : std::min(rows, kFewRows);
  std::int64_t floats = std::max(rows * std::max(widest, 2 * c.intermediate),
                                 setting.float32 ? 0 : kMaxSplits * split_rows * widest);
  return static_cast<std::size_t>(floats);
}

// Rows of logits lie at a multiple of 8, whatever their number.
bool Products::own_can(ProductKind kind) const {
  const ProductPlace& p = place(kind);
  return !setting_.float32 && p.k % kStep == 0 && (p.n % 8 == 0 || kind == ProductKind::kHead);
}

// As many blocks as give each multiprocessor two. Whole: the product cannot be split.
int Products::fixed_splits(std::int64_t n, std::int64_t k, bool whole) const {
  if (whole) return 1;
  const std::int64_t tiles = divided_up(n, 64);
  const std::int64_t wanted = (2 * setting_.multiprocessors + tiles / 2) / tiles;
  const std::int64_t most =
      std::min<std::int64_t>(kMaxSplits, std::max<std::int64_t>(1, k / kStep / 2));
  return used_splits(k, static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most)));
}

void Products::add_own(ProductKind kind, std::int64_t rows, std::vector<Plan>& out) const {
  const ProductPlace& p = place(kind);
  const bool with_silu = kind == ProductKind::kGateUp;
  const bool whole = with_silu || kind == ProductKind::kHead;
  const int fixed = fixed_splits(p.n, p.k, whole);
  std::vector<int> splits = {fixed};
  if (!whole && setting_.choice == ProductChoice::kFastest) {
    for (int other : {fixed / 3, fixed / 2, fixed * 3 / 4, fixed * 3 / 2, fixed * 2}) {
      const int used = used_splits(p.k, std::clamp(other, 1, kMaxSplits));
      if (std::find(splits.begin(), splits.end(), used) == splits.end()) splits.push_back(used);
    }
  }
  const int wanted_rows = rows <= 16 ? 16 : rows <= 32 ? 32 : 64;
  for (std::size_t i = 0; i < kernels_.products.size(); ++i) {
    const ProductVariant& variant = kernels_.products[i];
    if (variant.rows != wanted_rows || variant.silu != with_silu) continue;
    for (int one : splits) {
      Plan plan;
      plan.own = i;
      plan.splits = one;
      out.push_back(std::move(plan));
    }
  }
}

Result<std::shared_ptr<LtProduct>> Products::make_lt(ProductKind kind, std::int64_t rows) const {
  const ProductPlace& p = place(kind);
  LtShape shape;
  shape.rows = rows;
  shape.n = p.n;
  shape.k = p.k;
  shape.pitch = kind == ProductKind::kHead ? targets_.logit_pitch : p.n;
  shape.float32 = setting_.float32;
  shape.adds = kind == ProductKind::kOutput || kind == ProductKind::kDown;
  KW_TRY(LtProduct made, LtProduct::make(lt_, shape));
  return std::make_shared<LtProduct>(std::move(made));
}

Status Products::prepare(ProductKind kind, std::int64_t rows) {
  const Key key(kind, rows);
  if (plans_.contains(key)) return {};
  std::vector<Plan> all;
  const bool fixed = setting_.choice == ProductChoice::kFixedOrder;
  if (own_can(kind) && (fixed || rows <= kFewRows)) add_own(kind, rows, all);
  if (all.empty() || !fixed) {
    KW_TRY(std::shared_ptr<LtProduct> lt, make_lt(kind, rows));
    const std::size_t ways = fixed || rows > kTimedRows ? 1 : lt->ways();
    for (std::size_t way = 0; way < ways; ++way) {
      Plan plan;
      plan.lt = lt;
      plan.way = way;
      all.push_back(std::move(plan));
    }
  }
  std::size_t best = 0;
  for (std::size_t i = 0; all.size() > 1 && i < all.size(); ++i) {
    // A way that cuBLASLt offers and then refuses is one less.
    auto timed = time(all[i], kind, rows);
    all[i].us = timed ? *timed + adding_us(all[i], kind, rows) : 1e30;
    if (all[i].us < all[best].us) best = i;
  }
  if (all[best].us >= 1e30)
    return fail(ErrorCode::kInternal, "no product {} of {} rows works", to_string(kind), rows);
  plans_.emplace(key, std::move(all[best]));
  return {};
}

// Parts are read by the next kernel, beyond what it would read anyway.
double Products::adding_us(const Plan& plan, ProductKind kind, std::int64_t rows) const {
  if (!plan.own || kind == ProductKind::kGateUp || kind == ProductKind::kHead) return 0;
  return static_cast<double>(plan.splits * rows * place(kind).n * 4) / kAddingBytesPerUs;
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
      KW_TRY([[maybe_unused]] PartCount parts, run_plan(plan, kind, layer, rows));
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

Result<PartCount> Products::run(ProductKind kind, std::size_t layer, std::int64_t rows) {
  auto found = plans_.find({kind, rows});
  KW_CHECK(found != plans_.end());
  return run_plan(found->second, kind, layer, rows);
}

Result<PartCount> Products::run_plan(const Plan& plan, ProductKind kind, std::size_t layer,
                                     std::int64_t rows) {
  if (!plan.own) return run_lt(plan, kind, layer, rows);
  KW_TRY_STATUS(run_own(plan, kind, layer, rows));
  return kind == ProductKind::kGateUp || kind == ProductKind::kHead ? 0 : plan.splits;
}

Status Products::run_own(const Plan& plan, ProductKind kind, std::size_t layer, std::int64_t rows) {
  const ProductPlace& p = place(kind);
  const ProductVariant& variant = kernels_.products[*plan.own];
  ProductInput in{};
  in.x = p.x;
  in.w = p.weights[layer];
  in.part_rows = rows;
  in.pitch = p.n;
  in.y = targets_.parts;
  if (kind == ProductKind::kGateUp) {
    in.y = targets_.activated;
    in.bias = p.biases[layer];
  } else if (kind == ProductKind::kHead) {
    in.y = targets_.logits;
    in.pitch = targets_.logit_pitch;
  } else {
    KW_CHECK(static_cast<std::size_t>(plan.splits * rows * p.n) <= targets_.part_floats);
  }
  in.rows = static_cast<std::int32_t>(rows);
  in.n = static_cast<std::int32_t>(p.n);
  in.k = static_cast<std::int32_t>(p.k);
  in.steps = static_cast<std::int32_t>(divided_up(p.k / kStep, plan.splits));
  in.row_blocks = static_cast<std::int32_t>(divided_up(rows, variant.rows));
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(divided_up(p.n, variant.columns) * in.row_blocks);
  shape.grid[1] = static_cast<unsigned>(plan.splits);
  shape.threads = 128;
  shape.shared_bytes = variant.shared_bytes();
  shape.overlaps = setting_.overlap;
  return variant.function.launch(stream_, shape, in);
}

Result<PartCount> Products::run_lt(const Plan& plan, ProductKind kind, std::size_t layer,
                                   std::int64_t rows) {
  const ProductPlace& p = place(kind);
  switch (kind) {
    case ProductKind::kQkv:
      KW_TRY_STATUS(plan.lt->run(plan.way, p.x, p.weights[layer], targets_.parts, stream_));
      return 1;
    case ProductKind::kOutput:
    case ProductKind::kDown:
      KW_TRY_STATUS(plan.lt->run(plan.way, p.x, p.weights[layer], targets_.residual, stream_));
      return 0;
    case ProductKind::kHead:
      KW_TRY_STATUS(plan.lt->run(plan.way, p.x, p.weights[layer], targets_.logits, stream_));
      return 0;
    case ProductKind::kGateUp:
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

std::vector<std::string> Products::choices() const {
  std::vector<std::string> out;
  for (const auto& [key, plan] : plans_) {
    std::string way = fmt::format("cuBLASLt {}", plan.way);
    if (plan.own) {
      const ProductVariant& variant = kernels_.products[*plan.own];
      way = fmt::format("own {}x{}x{} split {}", variant.rows, variant.columns, variant.stages,
                        plan.splits);
    }
    out.push_back(
        fmt::format("{} {}: {}, {:.1f} us", to_string(key.first), key.second, way, plan.us));
  }
  return out;
}

}  // namespace kw::lm::cuda
