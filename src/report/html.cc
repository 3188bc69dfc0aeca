// Escaping.
#include "report/html.h"

#include "base/text.h"
#include "report/run.h"

namespace kw::report {

std::string escape(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') clean += text[i];
  }
  std::string out;
  for (char c : printable(clean, clean.size())) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bounded(std::string_view text, std::size_t max_bytes, std::size_t left_out_before) {
  Excerpt shown = excerpt(text, max_bytes);
  std::size_t left_out = shown.left_out + left_out_before;
  std::string out = escape(shown.text);
  if (left_out > 0) out += fmt::format("\n[{} more left out]", format_bytes(left_out));
  return out;
}

}  // namespace kw::report
