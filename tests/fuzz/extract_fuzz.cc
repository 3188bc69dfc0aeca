// A model's answer: code comes out of it whole, and nothing out of a reasoning section. The first
// byte decides language and options.
#include "fuzz.h"
#include "prompt/extract.h"

namespace kw::fuzz {

KW_FUZZ(extract, text) {
  if (text.empty()) return;
  auto choice = static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  auto language = static_cast<task::Language>(choice % 7);
  prompt::ExtractOptions options{(choice & 64U) != 0 ? "run" : "", (choice & 128U) != 0};
  std::size_t bytes = 0;
  auto blocks = prompt::code_blocks(text);
  for (const prompt::CodeBlock& block : blocks) bytes += block.code.size();
  KW_CHECK(bytes <= text.size() + blocks.size());
  prompt::Extraction found = prompt::extract_code(text, language, options);
  KW_CHECK(found.code.empty() != found.why_not.empty());
  KW_CHECK(found.why_not.size() < 8192);
  KW_CHECK(is_valid_utf8(found.why_not));
  // An answer all in thought has no code.
  if (text.find("</") == std::string_view::npos)
    KW_CHECK(prompt::extract_code("<think>" + std::string(text), language, options).code.empty());
}

}  // namespace kw::fuzz
