// safetensors files: every tensor listed lies inside the file and can be read, none overlap.
#include <algorithm>

#include "fuzz.h"
#include "scratch_file.h"
#include "task/safetensors.h"

namespace kw::fuzz {

KW_FUZZ(safetensors, text) {
  auto path = scratch().write("t.safetensors", text);
  auto entries = task::safetensors_entries(path);
  if (!accepted(entries)) {
    KW_CHECK(entries.error().message().find("t.safetensors") != std::string::npos);
    return;
  }
  std::uint64_t total = 8;
  for (const task::SafetensorsEntry& entry : *entries) {
    KW_CHECK(entry.offset <= text.size() && entry.bytes <= text.size() - entry.offset);
    total += entry.bytes;
    auto tensor = task::read_safetensor(path, entry.name, 1U << 20U);
    KW_CHECK(tensor);
    KW_CHECK(tensor->data.size() == entry.bytes);
    KW_CHECK(tensor->shape == entry.shape);
    KW_CHECK(std::equal(tensor->data.begin(), tensor->data.end(),
                        reinterpret_cast<const std::byte*>(text.data()) + entry.offset));
  }
  KW_CHECK(total <= text.size());
  accepted(task::read_safetensor(path, "no such tensor", 1U << 20U));
}

}  // namespace kw::fuzz
