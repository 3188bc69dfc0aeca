// The one table of element types.
#include "tensor/dtype.h"

#include <array>

namespace kw::tensor {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
  bool floating;
  double epsilon;
  std::optional<DType> next_lower;
  std::string_view cpp_type;
};

// Indexed by the enum's value. float16's and bfloat16's honest precision ends where fp8 begins;
// fp8's at fp4.
constexpr std::array<Row, 13> kRows = {{
    {DType::kFloat64, "float64", 8, true, 0x1p-52, DType::kFloat32, "double"},
    {DType::kFloat32, "float32", 4, true, 0x1p-23, DType::kBFloat16, "float"},
    {DType::kFloat16, "float16", 2, true, 0x1p-10, DType::kFloat8E4M3Fn, "_Float16"},
    {DType::kBFloat16, "bfloat16", 2, true, 0x1p-7, DType::kFloat8E4M3Fn, "kw_bfloat16"},
    {DType::kFloat8E4M3Fn, "float8_e4m3fn", 1, true, 0x1p-3, DType::kFloat4E2M1,
     "kw_float8_e4m3fn"},
    {DType::kFloat8E5M2, "float8_e5m2", 1, true, 0x1p-2, DType::kFloat4E2M1, "kw_float8_e5m2"},
    {DType::kFloat4E2M1, "float4_e2m1", 1, true, 0x1p-1, std::nullopt, "kw_float4_e2m1"},
    {DType::kInt64, "int64", 8, false, 0, std::nullopt, "int64_t"},
    {DType::kInt32, "int32", 4, false, 0, std::nullopt, "int32_t"},
    {DType::kInt16, "int16", 2, false, 0, std::nullopt, "int16_t"},
    {DType::kInt8, "int8", 1, false, 0, std::nullopt, "int8_t"},
    {DType::kUInt8, "uint8", 1, false, 0, std::nullopt, "uint8_t"},
    {DType::kBool, "bool", 1, false, 0, std::nullopt, "uint8_t"},
}};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

const Row& row(DType dtype) {
  return kRows.at(static_cast<std::size_t>(dtype));
}

}  // namespace

std::string_view to_string(DType dtype) {
  return row(dtype).name;
}

std::optional<DType> dtype_from_string(std::string_view name) {
  for (const Row& r : kRows) {
    if (r.name == name) return r.dtype;
  }
  return std::nullopt;
}

std::string dtype_names() {
  std::string out;
  for (const Row& r : kRows) {
    if (!out.empty()) out += ", ";
    out += r.name;
  }
  return out;
}

std::size_t size_of(DType dtype) {
  return row(dtype).size;
}
bool is_floating(DType dtype) {
  return row(dtype).floating;
}
double epsilon_of(DType dtype) {
  return row(dtype).epsilon;
}
std::optional<DType> next_lower(DType dtype) {
  return row(dtype).next_lower;
}
std::string_view cpp_type(DType dtype) {
  return row(dtype).cpp_type;
}

}  // namespace kw::tensor
