// Element types of tensors, under FlashInfer-Bench's names.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kw::tensor {

// The numbers are part of the executor's reply page (gym/protocol.h): never renumber.
enum class DType : int {
  kFloat64 = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kFloat8E4M3Fn = 4,
  kFloat8E5M2 = 5,
  kFloat4E2M1 = 6,
  kInt64 = 7,
  kInt32 = 8,
  kInt16 = 9,
  kInt8 = 10,
  kUInt8 = 11,
  kBool = 12,
};

std::string_view to_string(DType dtype);  // "float32"
std::optional<DType> dtype_from_string(std::string_view name);
std::string dtype_names();         // "float64, float32, ...", for messages
std::size_t size_of(DType dtype);  // bytes per element; float4_e2m1 is stored one element a byte
bool is_floating(DType dtype);
double epsilon_of(DType dtype);  // distance from 1 to the next value; 0 for integers and bool
std::optional<DType> next_lower(
    DType dtype);  // the dtype an honest kernel may not silently compute in; nullopt: none
std::string_view cpp_type(
    DType dtype);  // the type in problem.h: "float", "kw_bfloat16", "int64_t", ...

}  // namespace kw::tensor
