#include "gym/inputs/value_bounds.h"

#include <algorithm>
#include <cmath>

#include "tensor/half.h"

namespace kw::gym {

using task::Distribution;
using tensor::DType;

WholeRange whole_range(DType dtype) {
  if (tensor::is_floating(dtype))
    return {-2 / tensor::epsilon_of(dtype), 2 / tensor::epsilon_of(dtype)};
  if (dtype == DType::kBool) return {0, 1};
  if (dtype == DType::kUInt8) return {0, 255};
  double half = std::ldexp(1.0, static_cast<int>(8 * tensor::size_of(dtype)) - 1);
  return {-half,
          dtype == DType::kInt64 ? 0x1p63 - 1024 : half - 1};  // the largest double below 2^63
}

ValueBounds bounds_of(DType dtype, const task::InputPolicy& policy) {
  WholeRange range = whole_range(dtype);
  ValueBounds defaults{0, 1};
  switch (policy.distribution) {
    case Distribution::kIntegers:
      defaults = {std::max(-4.0, range.least), std::min(4.0, range.most)};
      break;
    case Distribution::kSpikes:
      defaults.high = 1e4;
      break;
    case Distribution::kWideRange:
      defaults = {-10, 10};
      break;
    default:
      break;
  }
  return {policy.low.value_or(defaults.low), policy.high.value_or(defaults.high)};
}

ValueBounds whole_bounds(DType dtype, const task::InputPolicy& policy) {
  WholeRange range = whole_range(dtype);
  ValueBounds bounds = bounds_of(dtype, policy);
  if (policy.distribution == Distribution::kDefault) {
    return {std::max(-1024.0, range.least), std::min(1023.0, range.most)};
  }
  if (policy.distribution == Distribution::kUniform)
    return {std::ceil(bounds.low), std::ceil(bounds.high) - 1};
  return {std::ceil(bounds.low), std::floor(bounds.high)};
}

ValueBounds representable_bounds(DType dtype, ValueBounds bounds) {
  auto value = [&](double x) {
    return dtype == DType::kFloat64 ? x
                                    : static_cast<double>(round_to(dtype, static_cast<float>(x)));
  };
  double low = bounds.low;
  for (double step = 0x1p-149; value(low) < bounds.low; step *= 2) low = bounds.low + step;
  double high = bounds.high;
  for (double step = std::max(0x1p-149, std::abs(high) * 0x1p-53); value(high) >= bounds.high;
       step *= 2)
    high = bounds.high - step;
  return {value(low), value(high)};
}

std::uint64_t count_of(ValueBounds whole) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole.high)) -
         static_cast<std::uint64_t>(static_cast<std::int64_t>(whole.low)) + 1;
}

ValueBounds uniform_ends(DType dtype, ValueBounds bounds) {
  return representable_bounds(dtype == DType::kFloat64 ? DType::kFloat32 : dtype, bounds);
}

}  // namespace kw::gym
