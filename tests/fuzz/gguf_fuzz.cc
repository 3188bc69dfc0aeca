// GGUF files: every tensor's bytes lie inside the file, none share one, and their first and last
// rows are read.
#include <algorithm>
#include <vector>

#include "fuzz.h"
#include "tensor/gguf.h"

namespace kw::fuzz {

KW_FUZZ(gguf, text) {
  const auto file = std::as_bytes(std::span(text));
  auto read = tensor::parse_gguf(file);
  if (!accepted(read)) return;
  std::size_t total = 0;
  for (const tensor::GgufTensor& tensor : read->tensors) {
    KW_CHECK(tensor.data.data() >= file.data());
    KW_CHECK(tensor.data.data() + tensor.data.size() <= file.data() + file.size());
    total += tensor.data.size();
    KW_CHECK(read->find(tensor.name) == &tensor);
    std::vector<float> row(static_cast<std::size_t>(tensor.columns()));
    tensor::dequantise_row(tensor, 0, row);
    tensor::dequantise_row(tensor, tensor.rows() - 1, row);
  }
  KW_CHECK(total <= file.size());
}

}  // namespace kw::fuzz
