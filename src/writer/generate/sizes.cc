#include "writer/generate/sizes.h"

#include <algorithm>
#include <variant>

#include "writer/generate/operators.h"

namespace kw::writer::generate {

std::int64_t other_size(SizeSet set, std::int64_t n) {
  if (n < 2) return n;
  if (set == SizeSet::kNear) return n < 8 ? n + 1 : n - n / 6;
  const std::int64_t less = n / 2 + n / 5 + 1;
  return less > 8 ? less | 1 : less;
}

std::optional<Plan> with_sizes(const Plan& plan, const std::map<std::string, std::int64_t>& sizes) {
  Plan out = plan;
  std::map<std::string, std::int64_t> values;
  for (Axis& axis : out.axes) {
    if (const auto found = sizes.find(axis.name); found != sizes.end()) axis.n = found->second;
    values[axis.name] = axis.n;
  }
  bool is_whole = true;
  const auto set = [&](Dim& dim) {
    const Result<std::int64_t> n = dim.size.evaluate(values);
    is_whole = is_whole && n && *n >= 1;
    if (n) dim.n = *n;
  };
  for (Value& value : out.values) std::for_each(value.shape.begin(), value.shape.end(), set);
  for (Step& step : out.steps) {
    for (Param& param : step.params) {
      if (auto* dim = std::get_if<Dim>(&param.value)) set(*dim);
    }
  }
  return is_whole ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Plan> resized(const Plan& plan, SizeSet set) {
  std::map<std::string, std::int64_t> sizes;
  for (const Axis& axis : plan.axes) {
    if (!axis.fixed && other_size(set, axis.n) != axis.n)
      sizes[axis.name] = other_size(set, axis.n);
  }
  return sizes.empty() ? std::nullopt : with_sizes(plan, sizes);
}

}  // namespace kw::writer::generate
