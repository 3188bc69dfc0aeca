// unroll_windows: pooling and convolutions of few channels without a loop over their window.
#include "base/check.h"
#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

constexpr std::int64_t kMaxElements = 64;   // of a window
constexpr std::int64_t kMaxStride = 4;      // elements between neighbouring outputs
constexpr std::int64_t kFewestOutputs = 8;  // along the last loop, where that is known

std::optional<ScalarOp> combining(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ScalarOp::kAdd;
    case ReduceOp::kProd:
      return ScalarOp::kMul;
    case ReduceOp::kMin:
      return ScalarOp::kMin;
    case ReduceOp::kMax:
      return ScalarOp::kMax;
    default:
      return std::nullopt;
  }
}

using Sizes = std::map<std::string, std::int64_t>;

// nullopt: it depends on more than these sizes.
std::optional<std::int64_t> value_of(const IntExpr& expr, const Sizes& sizes) {
  const auto value = expr.evaluate(sizes);
  return value ? std::optional(*value) : std::nullopt;
}

// Neighbouring outputs read what is near in memory.
bool reads_near(const ScalarRef& value, const Nest& nest, const std::string& variable,
                const Sizes& sizes) {
  std::vector<Access> reads;
  collect_reads(value, reads);
  bool out = false;
  for (const Access& read : reads) {
    const auto step = stride(nest, read, variable);
    const auto known = step ? value_of(*step, sizes) : std::nullopt;
    if (!known || *known < 0 || *known > kMaxStride) return false;
    out = out || *known > 0;
  }
  return out;
}

bool is_window(const Reduction& r, const Nest& nest, const Sizes& sizes) {
  std::int64_t elements = 1;
  for (const NestLoop* loop : r.reduced) {
    const auto extent = value_of(loop->extent, sizes);
    if (!extent || *extent < 1 || *extent > kMaxElements) return false;
    elements *= *extent;
    if (elements > kMaxElements) return false;
  }
  const NestLoop& last = *r.loops.back();
  const auto outputs = value_of(last.extent, sizes);
  if (outputs && *outputs < kFewestOutputs) return false;
  return r.step->value->dtype == r.declare->dtype &&
         reads_near(r.step->value, nest, last.variable, sizes);
}

void unroll(Reduction& r, ScalarOp op, const Sizes& sizes) {
  std::vector<ScalarRef> elements = {r.step->value};
  for (const NestLoop* loop : r.reduced) {
    const auto extent = value_of(loop->extent, sizes);
    KW_CHECK(extent);
    std::vector<ScalarRef> more;
    for (const ScalarRef& each : elements) {
      for (std::int64_t at = 0; at < *extent; ++at)
        more.push_back(substitute(each, {{loop->variable, IntExpr(at)}}));
    }
    elements = std::move(more);
  }
  ScalarRef all = elements.front();
  // The new element first: GCC takes minutes for long chains of maxima that begin with the others.
  for (std::size_t i = 1; i < elements.size(); ++i) all = binary(op, elements[i], all);
  IntRanges ranges;
  for (const NestLoop* loop : r.loops) ranges.loop(loop->variable, loop->extent);
  Store put = *r.store;
  put.value = with_reduced(put.value, without_known_tests(all, ranges));
  put.accumulator.clear();
  NestList body;
  body.push_back({std::move(put)});
  r.loops.back()->body = std::move(body);
}

}  // namespace

void unroll_windows(Nest& nest, const Sizes& sizes) {
  for_each_reduction(nest, [&](Reduction& found) {
    const auto op = combining(found.declare->op);
    if (!op || !is_window(found, nest, sizes)) return;
    for (const NestLoop* loop : found.reduced) {
      for (const std::string& name : loop->extent.symbols()) nest.numbers[name] = sizes.at(name);
    }
    unroll(found, *op, sizes);
  });
}

}  // namespace kw::writer
