#include "link/prompts_file.h"

#include <utility>

#include "base/text.h"
#include "os/file.h"

namespace kw::link {
namespace {

constexpr std::size_t kMaxFileBytes = 1ULL << 30U;

Result<FilePrompt> prompt_of(const Json& line, std::string where, GenerateRequest request) {
  FilePrompt out;
  KW_TRY(ObjectReader reader, ObjectReader::make(line, where));
  if (const Json* id = reader.find("id")) out.id = *id;
  KW_TRY_STATUS(read_prompt(reader, request));
  KW_TRY_STATUS(read_settings(reader, request));
  KW_TRY_STATUS(reader.no_other_keys());
  out.where = std::move(where);
  out.request = std::move(request);
  return out;
}

}  // namespace

Result<std::vector<FilePrompt>> read_prompts_file(const std::filesystem::path& path,
                                                  const GenerateRequest& defaults) {
  KW_TRY(const std::string text, os::read_file(path, kMaxFileBytes));
  std::vector<FilePrompt> out;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    std::string where = fmt::format("{}:{}", path.string(), number);
    auto value = parse_json(line);
    if (!value) return tl::unexpected(std::move(value).error().with_context(where));
    KW_TRY(FilePrompt prompt, prompt_of(*value, std::move(where), defaults));
    out.push_back(std::move(prompt));
  }
  if (out.empty()) return fail(ErrorCode::kInvalidArgument, "{}: no prompts", path.string());
  return out;
}

}  // namespace kw::link
