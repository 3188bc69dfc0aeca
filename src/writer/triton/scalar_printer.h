// Scalar expressions as lines of a Triton kernel.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "writer/triton/kernel_text.h"

namespace kw::writer::triton {

// Prints scalars. A value that is used twice, loaded or long gets a variable, in the outermost
// scope that has all that it needs.
class ScalarPrinter {
 public:
  explicit ScalarPrinter(KernelText& kernel) : kernel_(kernel) {}

  // Lanes for which `condition` is false are not loaded.
  Text print(const ScalarRef& value, const Text* condition = nullptr);
  // The same, never a bare number: where a function wants a tensor.
  Text tensor(const ScalarRef& value, const Text* condition = nullptr);
  // The value in a variable.
  Text variable(const ScalarRef& value, const std::string& wish);

  void set_reduced(Text text) { reduced_ = std::move(text); }
  const Text& reduced() const { return reduced_; }
  // Elements of this buffer are not loaded: this is the one of the row that is computed.
  void hold(BufferId buffer, Text text) { held_[buffer] = std::move(text); }

  // Functions that the file itself defines.
  const std::set<std::string>& functions() const { return functions_; }
  // Uses a function of support.h by name.
  std::string function(const std::string& name) {
    functions_.insert(name);
    return name;
  }
  bool uses_libdevice() const { return libdevice_; }
  // Operations that have no text.
  const std::set<std::string>& missing() const { return missing_; }

 private:
  Text make(const Scalar& value);
  Text load(const Scalar& value, const Scalar::Load& load);
  Text offset(const Scalar::Load& load);
  Text cast(const Scalar& value, const Scalar::Cast& cast);
  Text select(const Scalar::Call& call);
  Text unary(ScalarOp op, tensor::DType dtype, const ScalarRef& argument);
  Text binary(const Scalar::Call& call);
  Text named(const Text& text, const std::string& wish);
  bool is_zero_outside(const ScalarRef& value);
  bool needs_condition(const ScalarRef& value);
  void count(const ScalarRef& value);
  std::string library(const std::string& name) {
    libdevice_ = true;
    return "libdevice." + name;
  }

  KernelText& kernel_;
  std::optional<Text> condition_;  // the condition of the value that is being printed
  Text reduced_;
  std::map<BufferId, Text> held_;
  std::map<const Scalar*, int> uses_;
  std::map<const Scalar*, bool> guarded_;
  std::set<std::string> functions_, missing_;
  bool libdevice_ = false;
};

}  // namespace kw::writer::triton
