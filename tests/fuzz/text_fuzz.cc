// Untrusted bytes for terminals and JSON.
#include "base/text.h"
#include "fuzz.h"
#include "kernelwright/error_text.h"
#include "text/base64.h"

namespace kw::fuzz {

KW_FUZZ(text, text) {
  for (std::size_t most : {std::size_t{7}, std::size_t{300}, text.size() + 8}) {
    std::string shown = printable(text, most);
    KW_CHECK(shown.size() <= most + 3);
    KW_CHECK(is_valid_utf8(shown));
    KW_CHECK(shown.find('\x1b') == std::string::npos);
    KW_CHECK(printable(shown, shown.size()) == shown);
  }
  std::string line = front::one_line(text);
  KW_CHECK(line.find('\n') == std::string::npos);
  KW_CHECK(is_valid_utf8(line));
  KW_CHECK(join(split(text, '\n'), "\n") == text || text.starts_with("\n"));
  auto bytes = text::from_base64(text);
  if (accepted(bytes)) KW_CHECK(text::to_base64(*bytes) == text);
}

}  // namespace kw::fuzz
