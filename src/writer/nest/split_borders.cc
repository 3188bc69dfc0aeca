// split_borders: the inside of a padded tensor is read without conditions.
#include <algorithm>
#include <functional>

#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

constexpr int kMaxHeight = 2;  // of the loops that are split, counted from the innermost one

// A test that is true for variable >= numerator // step (is_lower), or below it.
struct Border {
  IntExpr numerator, step;
  bool is_lower = false;
  IntExpr place() const { return IntExpr::call(IntFunction::kFloorDiv, numerator, step); }
};

// Wherever the second test is true, the first one is.
bool follows(const Border& test, const Border& from) {
  const auto gap = (test.numerator - from.numerator).constant();
  return test.is_lower == from.is_lower && test.step == from.step && gap &&
         (test.is_lower ? *gap <= 0 : *gap >= 0);
}

bool depends_on_any(const IntExpr& expr, const std::set<std::string>& variables) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const std::string& each) { return expr.contains(each); });
}

// What a comparison says of the variable; nullopt where other loops' variables have a say.
std::optional<Border> border_of(const Scalar& value, const std::string& variable,
                                const std::set<std::string>& variables) {
  const auto* call = std::get_if<Scalar::Call>(&value.node);
  if (call == nullptr) return std::nullopt;
  const bool is_lower = call->op == ScalarOp::kGreaterEqual;
  if (!is_lower && call->op != ScalarOp::kLess) return std::nullopt;
  const auto a = index_of(call->arguments[0]), b = index_of(call->arguments[1]);
  if (!a || !b) return std::nullopt;
  const IntExpr gap = *a - *b;
  const auto step = gap.coefficient(variable);
  const auto each = step ? step->constant() : std::nullopt;
  if (!each || *each < 1) return std::nullopt;
  const IntExpr rest = gap.substitute({{variable, IntExpr()}});
  if (depends_on_any(rest, variables)) return std::nullopt;
  // step * variable + rest >= 0 from the first place on that is not below -rest / step.
  return Border{IntExpr(*each - 1) - rest, IntExpr(*each), is_lower};
}

int height(const NestList& list) {
  int out = 0;
  for (const NestNode& node : list) {
    if (const auto* loop = std::get_if<NestLoop>(&node.node))
      out = std::max(out, 1 + height(loop->body));
  }
  return out;
}

class Splitter {
 public:
  void of(NestList& list) {
    NestList out;
    for (NestNode& node : list) {
      auto* loop = std::get_if<NestLoop>(&node.node);
      if (loop == nullptr) {
        out.push_back(std::move(node));
        continue;
      }
      variables_.insert(loop->variable);
      for (Part& part : parts_of(*loop)) {
        // A border is a few iterations: the loops in it keep their tests.
        if (!part.is_border) of(part.loop.body);
        out.push_back({std::move(part.loop)});
      }
      variables_.erase(loop->variable);
    }
    list = std::move(out);
  }

 private:
  struct Part {
    NestLoop loop;
    bool is_border = false;
  };

  // Every expression below it is of a statement that can be copied.
  template <typename See>
  static bool for_each_value(NestList& list, const See& see) {
    for (NestNode& node : list) {
      if (auto* loop = std::get_if<NestLoop>(&node.node)) {
        if (!for_each_value(loop->body, see)) return false;
      } else if (auto* step = std::get_if<Accumulate>(&node.node)) {
        see(step->value);
      } else if (auto* put = std::get_if<Store>(&node.node)) {
        see(put->value);
      } else if (!std::holds_alternative<Declare>(node.node)) {
        return false;
      }
    }
    return true;
  }

  static void loops_in(const NestList& list, std::set<std::string>& out) {
    for (const NestNode& node : list) {
      const auto* loop = std::get_if<NestLoop>(&node.node);
      if (loop == nullptr) continue;
      out.insert(loop->variable);
      loops_in(loop->body, out);
    }
  }

  std::vector<Part> parts_of(NestLoop& loop) {
    std::vector<Part> out;
    std::set<std::string> others = variables_;
    loops_in(loop.body, others);
    others.erase(loop.variable);
    std::vector<Border> borders;
    const bool can_copy = for_each_value(loop.body, [&](const ScalarRef& value) {
      visit(value, [&](const Scalar& each) {
        if (auto border = border_of(each, loop.variable, others))
          borders.push_back(std::move(*border));
      });
    });
    if (!can_copy || borders.empty() || height(loop.body) >= kMaxHeight) {
      out.push_back({std::move(loop)});
      return out;
    }
    std::optional<Border> low, high;
    for (const Border& border : borders) {
      std::optional<Border>& end = border.is_lower ? low : high;
      if (!end || follows(*end, border)) end = border;
    }
    const IntExpr first = low ? at_least(least(low->place(), loop.extent), IntExpr()) : IntExpr();
    const IntExpr last = high ? at_least(least(high->place(), loop.extent), first) : loop.extent;
    if (!(first == IntExpr())) out.push_back({part(loop, {}, first), true});
    NestLoop middle = loop;
    for_each_value(middle.body, [&](ScalarRef& value) {
      value = without_tests(value, [&](const Scalar& test) {
        const auto border = border_of(test, loop.variable, others);
        const std::optional<Border>& end = border && border->is_lower ? low : high;
        return border && end && follows(*border, *end);
      });
    });
    out.push_back({part(middle, first, last)});
    if (high) out.push_back({part(loop, last, loop.extent), true});
    return out;
  }

  static IntExpr least(const IntExpr& a, const IntExpr& b) {
    return IntExpr::call(IntFunction::kMin, a, b);
  }
  static IntExpr at_least(const IntExpr& value, const IntExpr& bound) {
    const auto known = (value - bound).constant();
    if (known) return *known < 0 ? bound : value;
    return IntExpr::call(IntFunction::kMax, value, bound);
  }

  static NestLoop part(NestLoop loop, const IntExpr& first, const IntExpr& behind) {
    loop.first = first;
    loop.extent = behind;
    return loop;
  }

  std::set<std::string> variables_;  // of the loops around
};

}  // namespace

void split_borders(Nest& nest) {
  Splitter().of(nest.body);
}

}  // namespace kw::writer
