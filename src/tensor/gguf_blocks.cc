#include "tensor/gguf_blocks.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "tensor/half.h"

namespace kw::tensor {
namespace {

using Bytes = const std::uint8_t*;

constexpr std::pair<GgufType, GgufBlock> kBlocks[] = {
    {GgufType::kF32, {"F32", 1, 4}},       {GgufType::kF16, {"F16", 1, 2}},
    {GgufType::kQ4_0, {"Q4_0", 32, 18}},   {GgufType::kQ4_1, {"Q4_1", 32, 20}},
    {GgufType::kQ5_0, {"Q5_0", 32, 22}},   {GgufType::kQ5_1, {"Q5_1", 32, 24}},
    {GgufType::kQ8_0, {"Q8_0", 32, 34}},   {GgufType::kQ4_K, {"Q4_K", 256, 144}},
    {GgufType::kQ5_K, {"Q5_K", 256, 176}}, {GgufType::kQ6_K, {"Q6_K", 256, 210}},
    {GgufType::kBF16, {"BF16", 1, 2}},
};

std::uint16_t bits16(Bytes at) {
  return static_cast<std::uint16_t>(at[0] | (at[1] << 8U));
}
float half(Bytes at) {
  return half_to_float(bits16(at));
}

void f32(Bytes in, float* out) {
  std::memcpy(out, in, sizeof(float));
}
void f16(Bytes in, float* out) {
  *out = half(in);
}
void bf16(Bytes in, float* out) {
  *out = bfloat16_to_float(bits16(in));
}

void q8_0(Bytes in, float* out) {
  const float d = half(in);
  for (int at = 0; at < 32; ++at)
    out[at] = d * static_cast<float>(static_cast<std::int8_t>(in[2 + at]));
}

// Nibbles: the lower ones are the first half of the block. high: a fifth bit for each value.
int nibble(Bytes quants, std::uint32_t high, int at) {
  const int low = at < 16 ? quants[at] & 0xF : quants[at - 16] >> 4;
  return low | static_cast<int>(((high >> at) & 1U) << 4U);
}

void symmetric(float d, Bytes quants, std::uint32_t high, int middle, float* out) {
  for (int at = 0; at < 32; ++at)
    out[at] = d * static_cast<float>(nibble(quants, high, at) - middle);
}

void with_minimum(float d, float minimum, Bytes quants, std::uint32_t high, float* out) {
  for (int at = 0; at < 32; ++at) {
    const float scaled = d * static_cast<float>(nibble(quants, high, at));
    out[at] = scaled + minimum;
  }
}

std::uint32_t bits32(Bytes at) {
  return bits16(at) | (static_cast<std::uint32_t>(bits16(at + 2)) << 16U);
}

void q4_0(Bytes in, float* out) {
  symmetric(half(in), in + 2, 0, 8, out);
}
void q5_0(Bytes in, float* out) {
  symmetric(half(in), in + 6, bits32(in + 2), 16, out);
}
void q4_1(Bytes in, float* out) {
  with_minimum(half(in), half(in + 2), in + 4, 0, out);
}
void q5_1(Bytes in, float* out) {
  with_minimum(half(in), half(in + 2), in + 8, bits32(in + 4), out);
}

// The scale and the minimum of each 32 values of a K block: six bits each, in 12 bytes.
struct ScaleAndMinimum {
  float scale, minimum;
};
ScaleAndMinimum six_bits(Bytes packed, int at) {
  if (at < 4) return {static_cast<float>(packed[at] & 63), static_cast<float>(packed[at + 4] & 63)};
  const int scale = (packed[at + 4] & 0xF) | ((packed[at - 4] >> 6) << 4);
  const int minimum = (packed[at + 4] >> 4) | ((packed[at] >> 6) << 4);
  return {static_cast<float>(scale), static_cast<float>(minimum)};
}

// high: nullptr, or 32 bytes whose bit `group` is the fifth of the group's values.
void k_block(Bytes in, Bytes high, Bytes quants, float* out) {
  const float d = half(in), dmin = half(in + 2);
  for (int group = 0; group < 8; ++group) {
    const auto [scale, minimum] = six_bits(in + 4, group);
    const float step = d * scale, offset = dmin * minimum;
    for (int at = 0; at < 32; ++at) {
      const int byte = quants[group / 2 * 32 + at];
      int value = group % 2 == 0 ? byte & 0xF : byte >> 4;
      if (high != nullptr) value |= ((high[at] >> group) & 1) << 4;
      const float scaled = step * static_cast<float>(value);
      out[group * 32 + at] = scaled - offset;
    }
  }
}
void q4_k(Bytes in, float* out) {
  k_block(in, nullptr, in + 16, out);
}
void q5_k(Bytes in, float* out) {
  k_block(in, in + 16, in + 48, out);
}

void q6_k(Bytes in, float* out) {
  const Bytes low = in, high = in + 128, scales = in + 192;
  const float d = half(in + 208);
  for (int at = 0; at < 256; ++at) {
    const int part = at / 128, in_part = at % 128, row = in_part / 32, column = in_part % 32;
    const int byte = low[part * 64 + (row % 2) * 32 + column];
    const int four = row < 2 ? byte & 0xF : byte >> 4;
    const int two = (high[part * 32 + column] >> (2 * row)) & 3;
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(scales[at / 16]));
    out[at] = scale * static_cast<float>((four | (two << 4)) - 32);
  }
}

using Dequantise = void (*)(Bytes in, float* out);
Dequantise dequantiser(GgufType type) {
  switch (type) {
    case GgufType::kF32:
      return &f32;
    case GgufType::kF16:
      return &f16;
    case GgufType::kBF16:
      return &bf16;
    case GgufType::kQ4_0:
      return &q4_0;
    case GgufType::kQ4_1:
      return &q4_1;
    case GgufType::kQ5_0:
      return &q5_0;
    case GgufType::kQ5_1:
      return &q5_1;
    case GgufType::kQ8_0:
      return &q8_0;
    case GgufType::kQ4_K:
      return &q4_k;
    case GgufType::kQ5_K:
      return &q5_k;
    case GgufType::kQ6_K:
      return &q6_k;
  }
  return nullptr;
}

}  // namespace

const GgufBlock* gguf_block(std::uint32_t type) {
  for (const auto& [known, block] : kBlocks) {
    if (static_cast<std::uint32_t>(known) == type) return &block;
  }
  return nullptr;
}

std::string_view gguf_type_names() {
  return "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K";
}

void dequantise(GgufType type, std::span<const std::byte> blocks, std::span<float> out) {
  const GgufBlock* block = gguf_block(static_cast<std::uint32_t>(type));
  KW_CHECK(block != nullptr && out.size() % block->values == 0);
  const std::size_t count = out.size() / block->values;
  KW_CHECK(blocks.size() == count * block->bytes);
  const Dequantise one = dequantiser(type);
  for (std::size_t at = 0; at < count; ++at)
    one(reinterpret_cast<Bytes>(blocks.data()) + at * block->bytes,
        out.data() + at * block->values);
}

}  // namespace kw::tensor
