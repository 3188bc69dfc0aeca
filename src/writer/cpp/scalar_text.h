// Scalar expressions as C++.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "writer/loops/loops.h"

namespace kw::writer {

// The type in which a value of this dtype is held while it is computed with: float for the types
// narrower than float.
std::string_view cpp_value_type(tensor::DType dtype);
// "float16", "bfloat16": types that kw_from_NAME and kw_to_NAME convert as bits; empty for others.
std::string half_name(tensor::DType dtype);
// The identity of a reduction, as a literal of cpp_value_type(dtype). Not for kArgMin, kArgMax.
std::string identity_text(ReduceOp op, tensor::DType dtype);
// "a + b" and the like, of two values of one type. Floating extremes are kw_min and kw_max, with b
// first; kLogAddExp is kw_log_add_exp.
std::string combined(ReduceOp op, tensor::DType dtype, const std::string& a, const std::string& b);

// Prints expressions into one scope of a function. A subexpression that several expressions share,
// or that one uses twice, is computed once and kept in a constant. Under kSelect it is printed
// where it stands, because the side that is not chosen must not be evaluated.
class ScalarText {
 public:
  // load: the text of an element, of its buffer's element type.
  using Load = std::function<std::string(BufferId, const std::vector<std::string>& index)>;
  using KnownLoad = std::function<std::string(BufferId, const std::vector<IntExpr>& index)>;
  using IndexText = std::function<std::string(const IntExpr&)>;
  // names: of everything printed in the function, so that constants of nested scopes differ.
  ScalarText(Load load, KnownLoad known, IndexText index, int& names)
      : load_(std::move(load)),
        known_load_(std::move(known)),
        index_(std::move(index)),
        names_(names) {}

  // The expression's text. Lines that must stand before it are added to `lines`.
  // reduced: the text of Scalar::Reduced.
  std::string print(const ScalarRef& value, std::vector<std::string>& lines,
                    const std::string& reduced = {});

  // Functions that the caller's file must define or declare: "kw_sigmoid", "expf".
  const std::set<std::string>& functions() const { return functions_; }

 private:
  std::string text(const Scalar& value, bool always);
  std::string of(const ScalarRef& value, bool always);
  std::string element_of(const Scalar::Load& load, bool always);
  std::string call(const Scalar& value, const Scalar::Call& call, bool always);
  std::string exponential(tensor::DType dtype, const std::string& a);
  std::string unary(ScalarOp op, tensor::DType dtype, const std::string& a);
  std::string binary(ScalarOp op, tensor::DType from, const std::string& a, const std::string& b);
  std::string function(const std::string& name, tensor::DType dtype,
                       const std::vector<std::string>& arguments);
  void count(const ScalarRef& value);

  Load load_;
  KnownLoad known_load_;  // where no index depends on data
  IndexText index_;
  int& names_;
  std::set<std::string> functions_;
  std::map<const Scalar*, int> uses_;           // uses in the expression that is being printed
  std::map<ScalarRef, std::string> constants_;  // constants of this scope
  std::vector<std::string>* lines_ = nullptr;
  std::string reduced_;
};

}  // namespace kw::writer
