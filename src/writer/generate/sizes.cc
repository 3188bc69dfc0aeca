#include "writer/generate/sizes.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <variant>

namespace kw::writer::generate {
namespace {

// The first of these kinds that makes no dimension vanish and is not `taken`.
std::optional<Sizes> first_of(std::initializer_list<SizeSet> kinds, const Plan& plan,
                              const std::set<std::string>& axes, const Sizes& taken) {
  for (const SizeSet kind : kinds) {
    Sizes out;
    for (const Axis& axis : plan.axes) {
      if (axes.contains(axis.name))
        out[axis.name] = other_size(kind, axis.small > 0 ? axis.small : axis.n);
    }
    if (!out.empty() && out != taken && with_sizes(plan, out)) return out;
  }
  return std::nullopt;
}

std::int64_t largest_tensor(const Plan& plan) {
  std::map<std::string, std::int64_t> sizes;
  for (const Axis& axis : plan.axes) sizes[axis.name] = axis.n;
  std::int64_t out = 1;
  for (const Value& value : plan.values) out = std::max(out, elements(value.shape));
  for (const Node& node : plan.nodes) {
    for (const TensorType& type : node.outputs) {
      const Result<std::int64_t> n = element_count(type.shape).evaluate(sizes);
      if (n) out = std::max(out, *n);
    }
  }
  return out;
}

bool operators_fit(const Plan& plan, const Limits& limits) {
  return std::all_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return step.spec->domain == Domain::kNone || step.operands.empty() ||
           step.spec->fits(plan.values[static_cast<std::size_t>(step.operands[0])], limits);
  });
}

// The axes that may grow: not the rows of a matrix or sequence, which operators add up.
std::vector<std::string> stretchable(const Plan& plan) {
  std::set<std::string> rows;
  for (const Slot& slot : plan.slots) {
    const Dims& shape = plan.values[static_cast<std::size_t>(slot.value)].shape;
    if (shape.size() == 2 || shape.size() == 3) rows.merge(shape.back().size.symbols());
  }
  std::vector<std::string> out;
  for (const std::string& name : variable_axes(plan)) {
    if (!rows.contains(name)) out.push_back(name);
  }
  return out;
}

}  // namespace

std::int64_t other_size(SizeSet set, std::int64_t n) {
  switch (set) {
    case SizeSet::kOdd: {
      const std::int64_t less = (n / 2 + n / 5 + 1) | 1;
      return less != n ? less : n < 5 ? n + 2 : n - 2;
    }
    case SizeSet::kNear: {
      const std::int64_t near = n < 8 ? n + 1 : n - n / 6;
      return near != other_size(SizeSet::kOdd, n) ? near : n + 2;
    }
    case SizeSet::kOddAbove:
      return (n + 1) | 1;
    case SizeSet::kAbove:
      break;
  }
  return n + 3;
}

std::set<std::string> free_axes(const Plan& plan) {
  std::set<std::string> out;
  for (const Axis& axis : plan.axes) {
    if (!axis.fixed && axis.n > 1) out.insert(axis.name);
  }
  return out;
}

std::set<std::string> variable_axes(const Plan& plan) {
  std::set<std::string> dimensions, out = free_axes(plan);
  for (const Slot& slot : plan.slots) {
    for (const Dim& dim : plan.values[static_cast<std::size_t>(slot.value)].shape)
      dimensions.insert(dim.size.python());
  }
  for (const Step& step : plan.steps) {
    for (const Param& param : step.params) {
      const auto* dim = std::get_if<Dim>(&param.value);
      if (dim == nullptr) continue;
      const std::string text = dim->size.python();
      if (dimensions.contains(text) && plan.axis(text) != nullptr) continue;
      for (const std::string& symbol : dim->size.symbols()) out.erase(symbol);
    }
  }
  return out;
}

std::optional<Plan> with_sizes(const Plan& plan, const Sizes& sizes) {
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

std::vector<Sizes> other_sizes(const Plan& plan, const std::set<std::string>& axes) {
  std::vector<Sizes> out;
  if (auto odd = first_of({SizeSet::kOdd, SizeSet::kOddAbove}, plan, axes, {}))
    out.push_back(std::move(*odd));
  else
    return out;
  if (auto near = first_of({SizeSet::kNear, SizeSet::kAbove}, plan, axes, out[0]))
    out.push_back(std::move(*near));
  return out;
}

bool has_small_sizes(const Plan& plan) {
  return std::any_of(plan.axes.begin(), plan.axes.end(),
                     [](const Axis& axis) { return axis.small > 0; });
}

Plan stretched(const Plan& plan, Rng& rng, const Limits& limits) {
  std::vector<std::string> names = stretchable(plan);
  if (!names.empty())
    std::rotate(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(rng.below(names.size())),
                names.end());
  Plan out = plan;
  const double room = std::log2(static_cast<double>(limits.max_elements) /
                                static_cast<double>(largest_tensor(plan)));
  double left = room * rng.uniform();
  for (std::size_t i = 0; i < names.size() && left > 1; ++i) {
    const double part = i + 1 == names.size() ? left : left * rng.uniform();
    const std::int64_t n = plan.axis(names[i])->n;
    const auto most = static_cast<std::int64_t>(static_cast<double>(n) * std::exp2(part));
    for (std::int64_t size = human_size(rng, std::max(n, most * 3 / 4), std::max(n, most));
         size >= 2 * n; size /= 2) {
      auto larger = with_sizes(out, {{names[i], size}});
      if (!larger || largest_tensor(*larger) > limits.max_elements ||
          !operators_fit(*larger, limits))
        continue;
      out = std::move(*larger);
      out.axis(names[i])->small = n;
      left -= std::log2(static_cast<double>(size) / static_cast<double>(n));
      break;
    }
  }
  return out;
}

}  // namespace kw::writer::generate
