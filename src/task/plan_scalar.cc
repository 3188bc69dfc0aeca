#include "task/plan_scalar.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "tensor/half.h"

namespace kw::task {
namespace {

using tensor::DType;

template <typename T>
ResolvedScalar stored(T value) {
  ResolvedScalar out;
  out.bytes = sizeof value;
  std::memcpy(out.value.data(), &value, sizeof value);
  return out;
}

template <typename T>
Result<ResolvedScalar> integer_as(std::int64_t value, DType dtype) {
  if (value < std::int64_t{std::numeric_limits<T>::min()} ||
      value > std::int64_t{std::numeric_limits<T>::max()})
    return fail(ErrorCode::kInvalidArgument, "{} does not fit {}", value, to_string(dtype));
  return stored(static_cast<T>(value));
}

Result<ResolvedScalar> floating(double value, DType dtype) {
  if (dtype == DType::kFloat64) return stored(value);
  const auto single = static_cast<float>(value);
  if (dtype == DType::kFloat32) return stored(single);
  if (dtype == DType::kFloat16) return stored(tensor::float_to_half(single));
  if (dtype == DType::kBFloat16) return stored(tensor::float_to_bfloat16(single));
  return fail(ErrorCode::kInvalidArgument, "{} is no type of a scalar", to_string(dtype));
}

Result<ResolvedScalar> whole(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kInt64:
      return stored(value);
    case DType::kInt32:
      return integer_as<std::int32_t>(value, dtype);
    case DType::kInt16:
      return integer_as<std::int16_t>(value, dtype);
    case DType::kInt8:
      return integer_as<std::int8_t>(value, dtype);
    case DType::kUInt8:
      return integer_as<std::uint8_t>(value, dtype);
    case DType::kBool:
      return integer_as<bool>(value, dtype);
    default:
      return floating(static_cast<double>(value), dtype);
  }
}

Result<ResolvedScalar> of_input(std::size_t index, const Signature& signature, DType dtype) {
  if (index >= signature.inputs.size())
    return fail(ErrorCode::kInvalidArgument, "there is no input {}", index);
  const Argument& argument = signature.inputs[index];
  if (argument.role != Role::kScalar)
    return fail(ErrorCode::kInvalidArgument, "input {} (\"{}\") is a tensor, not a host scalar",
                index, printable(argument.name, 80));
  const Json& value = argument.value;
  if (value.is_boolean()) return whole(value.get<bool>() ? 1 : 0, dtype);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
    return fail(ErrorCode::kInvalidArgument, "input {} does not fit 64 bits", index);
  if (value.is_number_integer()) return whole(value.get<std::int64_t>(), dtype);
  if (!value.is_number_float())
    return fail(ErrorCode::kInvalidArgument, "input {} (\"{}\") has no value", index,
                printable(argument.name, 80));
  if (!is_floating(dtype))
    return fail(ErrorCode::kInvalidArgument, "input {} is a floating number, not {}", index,
                to_string(dtype));
  return floating(value.get<double>(), dtype);
}

}  // namespace

Result<ResolvedScalar> scalar_bytes(const PlanScalar& scalar, const Signature& signature,
                                    const AxisValues& axes) {
  if (const auto* input = std::get_if<HostScalar>(&scalar.value))
    return of_input(input->index, signature, scalar.dtype);
  if (const auto* number = std::get_if<double>(&scalar.value)) {
    if (!is_floating(scalar.dtype))
      return fail(ErrorCode::kInvalidArgument, "a floating number is not {}",
                  to_string(scalar.dtype));
    return floating(*number, scalar.dtype);
  }
  KW_TRY(std::int64_t value, std::get<LaunchExpression>(scalar.value).evaluate(axes));
  return whole(value, scalar.dtype);
}

}  // namespace kw::task
