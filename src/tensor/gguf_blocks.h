// How GGUF files store numbers: blocks of quantised values (ggml's formats, as of its
// ggml-common.h and ggml-quants.c).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kw::tensor {

// The numbers are those of the files.
enum class GgufType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  // ggml's names: NOLINTBEGIN(readability-identifier-naming)
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  // NOLINTEND(readability-identifier-naming)
  kBF16 = 30,
};

struct GgufBlock {
  std::string_view name;   // "Q4_K"
  std::size_t values = 1;  // of one block
  std::size_t bytes = 4;
};
// nullptr for a type that is not read.
const GgufBlock* gguf_block(std::uint32_t type);
// "F32, F16, ...", for messages
std::string_view gguf_type_names();

// The values of whole blocks, computed in float32 in the order of the gguf package's reference.
// blocks has out.size() / values blocks; any alignment.
void dequantise(GgufType type, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace kw::tensor
