// Elements of tensors, by tensor::DType.
// NOLINTBEGIN: the rules are for the text of C++.

constexpr int kFloat64 = 0, kFloat32 = 1, kFloat16 = 2, kBFloat16 = 3, kInt64 = 7, kInt32 = 8,
              kInt16 = 9, kInt8 = 10, kUInt8 = 11, kBool = 12;

// tensor/half.cc, to nearest and ties to even.
__device__ inline u16 half_bits(float value) {
  const u32 bits = as_bits(value);
  const u32 sign = (bits >> 31) != 0 ? 0x8000U : 0U;
  const u32 magnitude = bits & 0x7fffffffU;
  const u32 magic = (u32)(127 + 1 - 15 - 10 + 23) << 23;
  const u32 least_normal = (u32)(127 + 1 - 15) << 23;
  const u32 small = as_bits(as_float(magnitude) + as_float(magic)) - magic;
  const u32 odd = (magnitude >> 13) & 1U;
  const u32 normal = ((magnitude + 0xfffU + odd) >> 13) - ((u32)(127 - 15) << 10);
  u32 out = magnitude < least_normal ? small : normal;
  out = (magnitude >= least_normal && normal > 0x7bffU) ? 0x7c00U : out;
  out = magnitude > 0x7f800000U ? 0x7e00U : out;
  return (u16)(sign | out);
}

__device__ inline u16 bfloat16_bits(float value) {
  const u32 bits = as_bits(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return (u16)(bits >> 16 | 0x40U);
  return (u16)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

__device__ inline float half_value(u16 bits) {
  const u32 sign = (u32)(bits & 0x8000U) << 16;
  const u32 magnitude = (u32)(bits & 0x7fffU);
  if (magnitude >= 0x7c00U) return as_float(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  return as_float(as_bits(as_float(magnitude << 13) * as_float((u32)(127 + 127 - 15) << 23)) |
                  sign);
}

__device__ inline float bfloat16_value(u16 bits) {
  return as_float((u32)bits << 16);
}

__device__ inline void store_real(u64 address, int dtype, u64 i, float value) {
  if (dtype == kFloat32)
    ((float*)address)[i] = value;
  else
    ((u16*)address)[i] = dtype == kFloat16 ? half_bits(value) : bfloat16_bits(value);
}

__device__ inline void store_whole(u64 address, int dtype, u64 i, long long value) {
  switch (dtype) {
    case kFloat64:
      ((double*)address)[i] = (double)value;
      return;
    case kFloat32:
    case kFloat16:
    case kBFloat16:
      store_real(address, dtype, i, (float)value);
      return;
    case kInt64:
      ((long long*)address)[i] = value;
      return;
    case kInt32:
      ((int*)address)[i] = (int)value;
      return;
    case kInt16:
      ((short*)address)[i] = (short)value;
      return;
    default:
      ((u8*)address)[i] = (u8)value;
  }
}
// NOLINTEND
