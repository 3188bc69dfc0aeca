// A model's answer: code comes out of it whole, and nothing out of a reasoning section. The first
// byte decides language and options.
#include <set>

#include "fuzz.h"
#include "prompt/extract.h"
#include "prompt/file_name.h"

namespace kw::fuzz {

KW_FUZZ(extract, text) {
  static constexpr std::optional<text::Finish> kFinishes[] = {std::nullopt, text::Finish::kStop,
                                                              text::Finish::kLength};
  if (text.empty()) return;
  auto choice = static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  auto language = static_cast<task::Language>(choice % 7);
  // Up to the first NUL: code that stood in the prompt.
  std::vector<std::string> shown;
  if (text.find('\0') != std::string_view::npos) shown.emplace_back(take_until(text, '\0'));
  prompt::ExtractOptions options{(choice & 64U) != 0 ? "run" : "", kFinishes[choice / 7 % 3],
                                 shown};
  std::size_t bytes = 0;
  prompt::AnswerParts parts = prompt::answer_parts(text);
  for (const prompt::CodeBlock& block : parts.blocks) bytes += block.code.size();
  KW_CHECK(bytes <= text.size() + parts.blocks.size());
  KW_CHECK(parts.prose.size() <= text.size() + 1);
  prompt::Extraction found = prompt::extract_code(text, language, options);
  KW_CHECK((found.outcome == prompt::Extracted::kCode) == found.why_not.empty());
  KW_CHECK(found.files.empty() == !found.why_not.empty());
  KW_CHECK(found.code().empty() == found.files.empty());
  KW_CHECK(found.why_not.size() < 8192);
  KW_CHECK(is_valid_utf8(found.why_not));
  std::set<std::string> paths;
  for (const task::SourceFile& file : found.files) {
    KW_CHECK(prompt::is_file_name(file.path));
    KW_CHECK(paths.insert(file.path).second);
  }
  // An answer all in thought has no code.
  if (text.find("</") == std::string_view::npos && text.find("<|") == std::string_view::npos)
    KW_CHECK(prompt::extract_code("<think>" + std::string(text), language, options).code().empty());
}

}  // namespace kw::fuzz
