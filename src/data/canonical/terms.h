// Terms: values of a graph in a normal form of sums, products and compositions. Values that are
// equal in exact arithmetic are mostly the same term.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/dtype.h"

namespace kw::data::canonical {

using Numbers = std::vector<std::int64_t>;

struct Type {
  tensor::DType dtype = tensor::DType::kFloat32;
  Numbers shape;
  bool operator==(const Type&) const = default;
};

using TermId = int;

// Only views and "full" have axes of one element. op "scale" and "shift": `by` times the operand,
// `by` more. "add" and "mul": of two operands and more, that are broadcast. "full": `by`
// everywhere. "view", "permute" (order: numbers), "expand", "to" (another dtype). "sum", "amax":
// over the axes `numbers`. "product": of matrices. Functions of one element ("exp", "sigmoid",
// "relu"), comparisons with 0 ("lt0"), "where". Anything else: an operator's name with its
// arguments.
struct Term {
  std::string op;
  double by = 0;
  Numbers numbers = {};
  std::vector<TermId> operands = {};
  Type type = {};
  std::optional<std::size_t> input = {};
  std::string form = {};  // hash of it all, but for which input it is
};

std::string text_of(double number);  // nine digits
std::string text_of(const Type& type);

// Makes terms, each only once. Only one thread may use it, and ids belong to one Terms. Operands
// are broadcast and converted to a result's dtype as torch does it. The type of a result is given
// where operands do not tell it.
class Terms {
 public:
  const Term& operator[](TermId id) const { return all_[static_cast<std::size_t>(id)]; }
  bool is(TermId id, const char* op) const { return (*this)[id].op == op; }

  TermId input(std::size_t index, int role, const Type& type);
  TermId other(std::string op, std::vector<TermId> operands, const Type& type,
               Numbers numbers = {});
  TermId full(double value, const Type& type);

  // ---- sums and products (terms.cc)
  TermId add(TermId a, TermId b, const Type& type, double factor_of_b = 1);
  TermId scale(TermId x, double by);
  TermId shift(TermId x, double by);
  TermId mul(TermId a, TermId b, const Type& type);
  TermId reciprocal(TermId x);
  TermId divide(TermId a, TermId b, const Type& type) { return mul(a, reciprocal(b), type); }
  // The factor of a sum's first part, 1 of anything else: what a sum is divided by to be normal.
  double leading(TermId x) const;

  // ---- shapes (shapes.cc)
  TermId to(TermId x, tensor::DType dtype);
  TermId view(TermId x, Numbers shape);
  TermId permute(TermId x, Numbers order);
  TermId expand(TermId x, const Type& type);
  // The elements of one axis from `begin` to before `end`, each `step`-th.
  struct Cut {
    std::size_t axis = 0;
    std::int64_t begin = 0, end = 0, step = 1;
  };
  TermId slice(TermId x, const Cut& cut);
  // "sum" or "amax" over sorted axes; the result has `shape`, with the axes as 1 or without them.
  TermId reduce(const std::string& op, TermId x, const Numbers& axes, const Numbers& shape);
  TermId mean(TermId x, const Numbers& axes, const Numbers& shape);
  TermId product(TermId a, TermId b, const Type& type);

  // ---- functions of elements (functions.cc)
  TermId function(const std::string& name, TermId x);  // exp, log, sqrt, tanh, ... of x's dtype
  TermId power(TermId x, double exponent);
  TermId relu(TermId x);
  TermId abs(TermId x);
  TermId maximum(TermId a, TermId b, const Type& type);
  TermId minimum(TermId a, TermId b, const Type& type);
  TermId clamp(TermId x, std::optional<double> low, std::optional<double> high);
  // "lt", "le", "gt", "ge", "eq", "ne"
  TermId compare(const std::string& relation, TermId a, TermId b, const Type& type);
  TermId logical_not(TermId x);
  TermId where(TermId condition, TermId yes, TermId no, const Type& type);

 private:
  struct Parts;  // parts of a sum
  struct Factors;

  // The term itself; for a type with axes of one element, a view of a term without them.
  TermId put(Term term);
  TermId unexpanded(TermId id) const;
  TermId sum_of(const Parts& parts, const Type& type);
  bool is_whole(const std::vector<TermId>& operands, const Numbers& shape) const;
  TermId shifted(const Parts& parts, const std::vector<TermId>& order, const Type& type);
  TermId product_of(const Factors& factors, const Type& type);
  void take_factor(TermId x, Factors& factors);
  void join_powers(Factors& factors);
  void join_roots(Factors& factors);
  void join_halves(Factors& factors);
  // An operand of a broadcast result, without the axes of one element that the result has.
  TermId squeezed(TermId x, const Numbers& result);
  // Operands of a view's operand as views; empty where the view is more than that.
  std::vector<TermId> viewed_operands(TermId view_id);
  // Operands that are all views, or permutations, of one kind: those are put around the result.
  // Beside views that keep the last axes, operands of those axes alone stay as they are.
  struct Lift {
    std::vector<TermId> operands;
    Numbers shape;    // shape of the result inside
    Numbers numbers;  // numbers of the view, or the permutation's order
    bool is_view = true;
  };
  std::optional<Lift> lift_of(const std::vector<TermId>& operands) const;
  template <typename Make>
  std::optional<TermId> lifted(const std::vector<TermId>& operands, const Make& make);
  TermId sum_over(TermId x, const Numbers& axes);
  std::optional<TermId> sum_of_powers(TermId x, const Numbers& axes);
  std::optional<TermId> sum_of_stacked(TermId x, const Numbers& axes);
  std::optional<TermId> reduce_of_view(const std::string& op, TermId x, const Numbers& axes);
  TermId reduce_of_permuted(const std::string& op, TermId x, const Numbers& axes);
  TermId log(TermId x);
  TermId sqrt(TermId x);
  TermId broadcast(TermId x, const Type& type);

  std::vector<Term> all_;
  std::map<std::string, TermId> ids_;
};

// Without the axes; without those of one element.
Numbers without(const Numbers& shape, const Numbers& axes);
Numbers squeezed(const Numbers& shape);
std::int64_t count(const Numbers& shape);  // number of elements

template <typename Make>
std::optional<TermId> Terms::lifted(const std::vector<TermId>& operands, const Make& make) {
  const auto plan = lift_of(operands);
  if (!plan) return std::nullopt;
  const TermId made = make(plan->operands, plan->shape);
  return plan->is_view ? view(made, plan->numbers) : permute(made, plan->numbers);
}

}  // namespace kw::data::canonical
