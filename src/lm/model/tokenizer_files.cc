#include <array>
#include <system_error>

#include "lm/model/checkpoint.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;

constexpr std::array kCopied = {
    "tokenizer.json",      "tokenizer_config.json",  "special_tokens_map.json",
    "chat_template.jinja", "generation_config.json", "vocab.json",
    "merges.txt",          "added_tokens.json"};

}  // namespace

Status copy_tokenizer_files(const fs::path& from, const fs::path& to) {
  for (const char* name : kCopied) {
    std::error_code error;
    if (!fs::exists(from / name, error) || fs::exists(to / name, error)) continue;
    if (!fs::copy_file(from / name, to / name, error))
      return fail(ErrorCode::kPermissionDenied, "cannot copy {} to {}: {}", (from / name).string(),
                  to.string(), error.message());
  }
  return {};
}

}  // namespace kw::lm
