// The names of dtypes in safetensors files; private to this folder.
#pragma once
#include "tensor/dtype.h"
#include "text/enum_names.h"

namespace kw::tensor {

// float4 is missing: safetensors packs two in a byte and we do not.
inline constexpr auto kSafetensorsNames = text::enum_names<DType>({
    {DType::kFloat64, "F64"},
    {DType::kFloat32, "F32"},
    {DType::kFloat16, "F16"},
    {DType::kBFloat16, "BF16"},
    {DType::kFloat8E4M3Fn, "F8_E4M3"},
    {DType::kFloat8E5M2, "F8_E5M2"},
    {DType::kInt64, "I64"},
    {DType::kInt32, "I32"},
    {DType::kInt16, "I16"},
    {DType::kInt8, "I8"},
    {DType::kUInt8, "U8"},
    {DType::kBool, "BOOL"},
});

}  // namespace kw::tensor
