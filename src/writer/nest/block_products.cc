// block_products: reductions that are sums of products, as operands that a register-tiled kernel
// reads.
#include <algorithm>
#include <map>

#include "writer/graph/int_ranges.h"
#include "writer/loops/scalar.h"
#include "writer/nest/groups.h"
#include "writer/nest/nest.h"
#include "writer/nest/padded_image.h"

namespace kw::writer {
namespace {

using Names = std::set<std::string>;

// What a product is made of, beside its loops: the terms of the condition under which it counts.
struct Factors {
  ScalarRef left, right;
  std::vector<ScalarRef> conditions;
};

std::optional<Factors> factors_of(const ScalarRef& value) {
  const auto* call = std::get_if<Scalar::Call>(&value->node);
  if (call == nullptr) return std::nullopt;
  if (call->op == ScalarOp::kMul) return Factors{call->arguments[0], call->arguments[1], {}};
  if (call->op != ScalarOp::kSelect || !is_zero(call->arguments[2])) return std::nullopt;
  auto out = factors_of(call->arguments[1]);
  if (!out) return std::nullopt;
  for (ScalarRef& term : conjuncts(call->arguments[0])) out->conditions.push_back(std::move(term));
  return out;
}

// A remainder of (variable + rest) by `by` in an index: a transposed convolution's.
struct Phase {
  std::string variable;
  IntExpr by;
};

void phases_in(const IntExpr& expr, const Names& variables, std::vector<Phase>& out) {
  for (const IntTerm& term : expr.sum()) {
    for (const IntFactor& factor : term.factors) {
      if (!factor.symbol.empty()) continue;
      phases_in(factor.a, variables, out);
      if (factor.function != IntFunction::kMod) continue;
      for (const std::string& variable : variables) {
        if (factor.a.coefficient(variable) == IntExpr(1) && !factor.b.contains(variable))
          out.push_back({variable, factor.b});
      }
    }
  }
}

std::optional<Phase> phase_in(const ScalarRef& value, const Names& variables) {
  std::vector<Phase> out;
  visit(value, [&](const Scalar& each) {
    const auto* index = std::get_if<Scalar::Index>(&each.node);
    if (index != nullptr) phases_in(index->expr, variables, out);
  });
  return out.empty() ? std::nullopt : std::optional(out.front());
}

class Blocker {
 public:
  explicit Blocker(Nest& nest) : nest_(nest) {}

  // What takes the node's place.
  NestList of(NestNode node) {
    NestList out;
    const std::optional<Reduction> found = reduction_in(node);
    if (found && found->step->op == ReduceOp::kSum &&
        (found->declare->dtype == tensor::DType::kFloat32 ||
         found->declare->dtype == tensor::DType::kFloat64))
      out = product_of(*found, found->declare->dtype);
    if (out.empty()) out.push_back(std::move(node));
    return out;
  }

 private:
  struct Parts {
    std::vector<Loop> loops, depth;
    ScalarRef value, epilogue;
    std::vector<IntExpr> index;
    IntRanges ranges;
  };

  // Empty: it is none.
  NestList product_of(const Reduction& found, tensor::DType dtype) {
    Parts parts;
    for (const NestLoop* loop : found.loops) parts.loops.push_back({loop->variable, loop->extent});
    for (const NestLoop* loop : found.reduced)
      parts.depth.push_back({loop->variable, loop->extent});
    parts.value = found.step->value;
    parts.epilogue = found.store->value;
    parts.index = found.store->index;
    drop_single(parts);
    // A group's members read the same elements.
    Groups groups = split_groups(parts.value, parts.loops);
    parts.loops = std::move(groups.loops);
    if (!groups.places.empty()) {
      replace(parts, groups.places);
      // A member is below their number: its remainder is the member.
      IntRanges known = parts.ranges;
      for (const std::vector<Loop>* loops : {&parts.loops, &parts.depth}) {
        for (const Loop& loop : *loops) known.loop(loop.variable, loop.extent);
      }
      parts.value = simplified(parts.value, known);
    }
    const Parts whole = parts;
    below_extent_.clear();
    std::vector<Loop> around;
    auto factors = split_factors(parts, around);
    if (!factors) {
      parts = whole;
      around.clear();
      for (const std::vector<Loop>* loops : {&parts.loops, &parts.depth}) {
        for (const Loop& loop : *loops) parts.ranges.loop(loop.variable, loop.extent);
      }
      parts.value = simplified(parts.value, parts.ranges);
      factors = factors_of(parts.value);
    }
    if (!factors) return {};
    Product out;
    out.depth = parts.depth;
    if (!around.empty()) tighten(parts, *factors, out.depth);
    out.out = found.store->buffer;
    out.dtype = dtype;
    out.epilogue = parts.epilogue;
    out.index = parts.index;
    if (!assign(parts, *factors, around, out)) return {};
    NestList body;
    auto image = padded_image(
        {plain_right_, right_conditions_, around, out.columns, parts.depth, parts.ranges}, dtype,
        nest_.program);
    if (image) {
      out.right = image->value;
      out.columns = std::move(image->columns);
      around = std::move(image->around);
      body.push_back(std::move(image->filling));
    } else {
      take_outside(out, around);
    }
    if (out.rows.empty() && body.empty()) return {};
    body.push_back({std::move(out)});
    for (std::size_t i = around.size(); i-- > 0;) {
      NestList outer;
      outer.push_back({NestLoop{around[i].variable, around[i].extent, std::move(body)}});
      body = std::move(outer);
    }
    return body;
  }

  static void replace(Parts& parts, const std::map<std::string, IntExpr>& values) {
    parts.value = substitute(parts.value, values);
    parts.epilogue = substitute(parts.epilogue, values);
    for (IntExpr& index : parts.index) index = index.substitute(values);
  }

  // Loops of one iteration.
  static void drop_single(Parts& parts) {
    std::map<std::string, IntExpr> gone;
    for (std::vector<Loop>* loops : {&parts.loops, &parts.depth}) {
      std::erase_if(*loops, [&](const Loop& loop) {
        const bool single = loop.extent == IntExpr(1);
        if (single) gone.emplace(loop.variable, IntExpr());
        return single;
      });
    }
    if (!gone.empty()) replace(parts, gone);
  }

  // Leading columns that are not one run in memory with those behind them, where these are enough:
  // an image after the other.
  void take_outside(Product& product, std::vector<Loop>& around) const {
    constexpr std::int64_t kEnough = 64;
    const auto* load = std::get_if<Scalar::Load>(&product.right->node);
    if (load == nullptr || product.rows.empty()) return;
    const std::vector<IntExpr> index = known_indices(*load);
    if (index.size() != load->index.size()) return;
    const IntExpr linear = linear_index(nest_, load->buffer, index);
    while (product.columns.size() > 1) {
      const Loop &far = product.columns[0], &near = product.columns[1];
      const auto by_far = linear.coefficient(far.variable),
                 by_near = linear.coefficient(near.variable);
      if (!by_far || !by_near || *by_far == *by_near * near.extent) return;
      std::int64_t rest = 1;
      for (std::size_t i = 1; i < product.columns.size(); ++i)
        rest *= product.columns[i].extent.evaluate(nest_.program.sizes).value_or(1);
      if (rest < kEnough) return;
      around.push_back(far);
      product.columns.erase(product.columns.begin());
    }
  }

  // Conditions step * r + rest < limit on one loop r of the sum, the rest of phases: its extent.
  void tighten(const Parts& parts, Factors& factors, std::vector<Loop>& depth) {
    Names own = names_of(parts.loops);
    own.merge(names_of(parts.depth));
    const auto is_extent = [&](const ScalarRef& condition) {
      const auto* call = std::get_if<Scalar::Call>(&condition->node);
      if (call == nullptr || call->op != ScalarOp::kLess) return false;
      const auto* left = std::get_if<Scalar::Index>(&call->arguments[0]->node);
      const auto* right = std::get_if<Scalar::Index>(&call->arguments[1]->node);
      const auto* number = std::get_if<Scalar::Constant>(&call->arguments[1]->node);
      if (left == nullptr || (right == nullptr && number == nullptr)) return false;
      const IntExpr limit = right != nullptr ? right->expr : IntExpr(number->integer);
      for (Loop& loop : depth) {
        const auto step = left->expr.coefficient(loop.variable);
        if (!step || !parts.ranges.less(0, *step)) continue;
        const IntExpr rest = left->expr.substitute({{loop.variable, IntExpr()}});
        if (in_reach(rest.symbols(), own) || in_reach(limit.symbols(), own)) continue;
        loop.extent = IntExpr::call(IntFunction::kFloorDiv, limit - rest + *step - 1, *step);
        below_extent_.push_back(left->expr);
        return true;
      }
      return false;
    };
    std::erase_if(factors.conditions, is_extent);
  }

  // With the loops of a transposed convolution split; nullopt where that does not take them out of
  // one operand.
  std::optional<Factors> split_factors(Parts& parts, std::vector<Loop>& around) {
    around = split_phases(parts);
    if (around.empty()) return std::nullopt;
    for (const std::vector<Loop>* loops : {&around, &parts.loops, &parts.depth}) {
      for (const Loop& loop : *loops) parts.ranges.loop(loop.variable, loop.extent);
    }
    auto out = factors_of(simplified(parts.value, parts.ranges));
    if (!out) return std::nullopt;
    const Names left = variables_of(out->left), right = variables_of(out->right);
    for (const Loop& loop : around) {
      const std::string step = loop.variable.substr(0, loop.variable.size() - 1) + "s";
      if (left.contains(step) && right.contains(step)) return std::nullopt;
    }
    return out;
  }

  // place = phase + by * step: each phase reads the weights that it needs alone.
  std::vector<Loop> split_phases(Parts& parts) {
    std::vector<Loop> out;
    Names variables;
    for (const Loop& loop : parts.loops) variables.insert(loop.variable);
    for (;;) {
      const auto phase = phase_in(parts.value, variables);
      if (!phase) return out;
      variables.erase(phase->variable);
      const auto loop = std::find_if(parts.loops.begin(), parts.loops.end(), [&](const Loop& each) {
        return each.variable == phase->variable;
      });
      const std::string first = phase->variable + "p", step = phase->variable + "s";
      const IntExpr start = IntExpr::symbol(first);
      const std::map<std::string, IntExpr> places = {
          {phase->variable, start + phase->by * IntExpr::symbol(step)}};
      out.push_back({first, IntExpr::call(IntFunction::kMin, phase->by, loop->extent)});
      *loop = {step, IntExpr::call(IntFunction::kFloorDiv, loop->extent - start + phase->by - 1,
                                   phase->by)};
      replace(parts, places);
    }
  }

  // Each loop to the operand that depends on it; loops in both go around.
  bool assign(const Parts& parts, const Factors& factors, std::vector<Loop>& around, Product& out) {
    if (parts.loops.empty()) return false;
    ScalarRef left = factors.left, right = factors.right;
    Names in_left = variables_of(left), in_right = variables_of(right);
    const std::string& last = parts.loops.back().variable;
    if (in_left.contains(last)) {
      std::swap(left, right);
      std::swap(in_left, in_right);
    }
    if (in_left.contains(last) || !in_right.contains(last)) return false;
    for (const Loop& loop : parts.loops) {
      const bool shared = in_left.contains(loop.variable) && in_right.contains(loop.variable);
      if (shared)
        around.push_back(loop);
      else if (in_right.contains(loop.variable))
        out.columns.push_back(loop);
      else
        out.rows.push_back(loop);
    }
    if (out.rows.empty() && factors.conditions.empty()) return false;
    if (!in_reach(parts.depth, in_left) && !in_reach(parts.depth, in_right)) return false;
    const Names not_left = names_of(out.columns), not_right = names_of(out.rows);
    std::vector<ScalarRef> of_left, of_right;
    for (const ScalarRef& condition : factors.conditions) {
      const Names mine = variables_of(condition);
      const bool fits_left = !in_reach(mine, not_left), fits_right = !in_reach(mine, not_right);
      if (!fits_left && !fits_right) return false;
      if (fits_left) of_left.push_back(condition);
      if (fits_right) of_right.push_back(condition);
    }
    const std::size_t all = factors.conditions.size();
    if (of_left.size() < all && !in_bounds(left, of_left, parts.ranges)) return false;
    if (of_right.size() < all && !in_bounds(right, of_right, parts.ranges)) return false;
    for (const ScalarRef& condition : of_left) left = guarded(condition, left);
    plain_right_ = right;
    right_conditions_ = of_right;
    for (const ScalarRef& condition : of_right) right = guarded(condition, right);
    out.left = left;
    out.right = right;
    return true;
  }

  // Every load of the operand is of an element that is there, proven or by a condition on its
  // index.
  bool in_bounds(const ScalarRef& operand, const std::vector<ScalarRef>& conditions,
                 const IntRanges& ranges) const {
    std::vector<IntExpr> conditioned = below_extent_;
    for (const ScalarRef& condition : conditions) {
      visit(condition, [&](const Scalar& each) {
        if (const auto* index = std::get_if<Scalar::Index>(&each.node))
          conditioned.push_back(index->expr);
      });
    }
    bool out = true;
    visit(operand, [&](const Scalar& each) {
      const auto* load = std::get_if<Scalar::Load>(&each.node);
      if (load == nullptr) return;
      const Shape& shape = nest_.program.buffers[static_cast<std::size_t>(load->buffer)].type.shape;
      for (std::size_t d = 0; d < load->index.size(); ++d) {
        const auto index = index_of(load->index[d]);
        const bool known = index && (std::find(conditioned.begin(), conditioned.end(), *index) !=
                                         conditioned.end() ||
                                     (ranges.nonnegative(*index) && ranges.less(*index, shape[d])));
        out = out && known;
      }
    });
    return out;
  }

  static ScalarRef guarded(const ScalarRef& condition, const ScalarRef& value) {
    if (const auto* call = std::get_if<Scalar::Call>(&value->node);
        call != nullptr && call->op == ScalarOp::kSelect && is_zero(call->arguments[2]))
      return select(logical_and(call->arguments[0], condition), call->arguments[1],
                    call->arguments[2]);
    return select(condition, value, number(value->dtype, 0));
  }

  static Names names_of(const std::vector<Loop>& loops) {
    Names out;
    for (const Loop& loop : loops) out.insert(loop.variable);
    return out;
  }
  static bool in_reach(const Names& some, const Names& others) {
    return std::any_of(some.begin(), some.end(),
                       [&](const std::string& each) { return others.contains(each); });
  }
  static bool in_reach(const std::vector<Loop>& loops, const Names& others) {
    return in_reach(names_of(loops), others);
  }

  Nest& nest_;
  // Of the product in the making: the right operand without conditions, and these.
  ScalarRef plain_right_;
  std::vector<ScalarRef> right_conditions_;
  std::vector<IntExpr> below_extent_;  // indices that a loop's extent keeps in bounds
};

}  // namespace

void block_products(Nest& nest) {
  Blocker blocker(nest);
  NestList body;
  for (NestNode& node : nest.body) {
    for (NestNode& each : blocker.of(std::move(node))) body.push_back(std::move(each));
  }
  nest.body = std::move(body);
}

}  // namespace kw::writer
