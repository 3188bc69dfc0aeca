// Reads GGUF files (versions 2 and 3, little endian): metadata, then the tensors' names, shapes and
// places, then their data.
//
// Files come from anywhere: every length is checked against the file before it is used.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/gguf_blocks.h"

namespace kw::tensor {

struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // outermost first: [rows, columns]
  GgufType type = GgufType::kF32;
  std::span<const std::byte> data;  // of the file's bytes

  std::int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t rows() const;  // of all outer dimensions
};

struct GgufFile {
  std::uint32_t version = 0;
  Json metadata = Json::object();  // strings, numbers, booleans and lists of these
  std::vector<GgufTensor> tensors;

  const GgufTensor* find(std::string_view name) const;
};

// file must outlive the result. At most 4,096 keys, 65,536 tensors of at most 4 dimensions, 2^22
// entries in all lists. kInvalidArgument for what is corrupt and kUnsupported for other versions
// and types; both name the key or the tensor.
Result<GgufFile> parse_gguf(std::span<const std::byte> file);

// values has tensor.columns() elements.
void dequantise_row(const GgufTensor& tensor, std::int64_t row, std::span<float> values);

}  // namespace kw::tensor
