// JSON text: what is read is written and read as the same value, and its canonical form is a fixed
// point.
#include "fuzz.h"

namespace kw::fuzz {

KW_FUZZ(json, text) {
  auto value = parse_json(text);
  if (!accepted(value)) return;
  KW_CHECK(is_valid_utf8(text));
  std::string written = value->dump();
  auto again = parse_json(written);
  KW_CHECK(again);
  KW_CHECK(again->dump() == written);
  std::string canonical = canonical_json(*value);
  auto sorted = parse_json(canonical);
  KW_CHECK(sorted);
  KW_CHECK(canonical_json(*sorted) == canonical);
}

}  // namespace kw::fuzz
