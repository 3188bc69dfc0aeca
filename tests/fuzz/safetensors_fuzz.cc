// safetensors files: every tensor listed can be read, and together they are all of the data.
#include <algorithm>

#include "fuzz.h"
#include "scratch_file.h"
#include "tensor/safetensors.h"

namespace kw::fuzz {

KW_FUZZ(safetensors, text) {
  auto path = scratch().write("t.safetensors", text);
  auto entries = tensor::safetensors_entries(path);
  if (!accepted(entries)) {
    KW_CHECK(entries.error().message().find("t.safetensors") != std::string::npos);
    return;
  }
  std::uint64_t header = 0;
  for (std::size_t i = 8; i-- > 0;) header = (header << 8U) | static_cast<unsigned char>(text[i]);
  std::uint64_t total = 8 + header;
  for (const tensor::SafetensorsEntry& entry : *entries) {
    KW_CHECK(entry.offset <= text.size() && entry.bytes <= text.size() - entry.offset);
    total += entry.bytes;
    auto tensor = tensor::read_safetensor(path, entry.name, 1U << 20U);
    KW_CHECK(tensor);
    KW_CHECK(tensor->data.size() == entry.bytes);
    KW_CHECK(tensor->shape == entry.shape);
    KW_CHECK(std::equal(tensor->data.begin(), tensor->data.end(),
                        reinterpret_cast<const std::byte*>(text.data()) + entry.offset));
  }
  KW_CHECK(total == text.size());
  accepted(tensor::read_safetensor(path, "no such tensor", 1U << 20U));
}

}  // namespace kw::fuzz
