// C++ text of candidates: the search for a definition of prepare().
#include "fuzz.h"
#include "task/signature.h"
#include "text/cpp_scan.h"

namespace kw::fuzz {

KW_FUZZ(cpp_source, text) {
  bool found = text::defines_prepare(text);
  // A comment in front changes nothing; inside one there is no definition.
  KW_CHECK(text::defines_prepare("/* prepare() { */\n" + std::string(text)) == found);
  if (text.find("*/") == std::string_view::npos)
    KW_CHECK(!text::defines_prepare("/*" + std::string(text)));
}

}  // namespace kw::fuzz
