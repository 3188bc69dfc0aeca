#include "writer/generate/precision.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

using tensor::DType;

// Ways to write an operator have powers of a value; float16 ends at 65504.
constexpr double kMaxInFloat16 = 20, kMaxInBfloat16 = 1e4;
constexpr double kMinInFloat16 = 5e-7;

// A number that float16 makes 0: an epsilon.
bool vanishes(const Param& param) {
  const auto* number = std::get_if<double>(&param.value);
  return number != nullptr && *number != 0 && std::abs(*number) < kMinInFloat16;
}

}  // namespace

bool holds_in(const Plan& plan, DType half) {
  const double most = half == DType::kFloat16 ? kMaxInFloat16 : kMaxInBfloat16;
  return std::all_of(plan.steps.begin(), plan.steps.end(),
                     [&](const Step& step) {
                       const bool has_zero =
                           half == DType::kFloat16 &&
                           std::any_of(step.params.begin(), step.params.end(), vanishes);
                       return step.spec->half.value_or(false) && !has_zero;
                     }) &&
         std::all_of(plan.values.begin(), plan.values.end(), [&](const Value& value) {
           return value.dtype != DType::kFloat32 || value.magnitude() <= most;
         });
}

void retype(Plan& plan, DType half) {
  plan.dtype = half;
  const auto change = [&](DType& dtype) {
    if (dtype == DType::kFloat32) dtype = half;
  };
  for (Value& value : plan.values) change(value.dtype);
  for (Node& node : plan.nodes) {
    for (TensorType& type : node.outputs) change(type.dtype);
    for (auto& [name, attribute] : node.arguments) {
      if (auto* dtype = std::get_if<DType>(&attribute)) change(*dtype);
    }
  }
}

}  // namespace kw::writer::generate
