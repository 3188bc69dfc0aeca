// Verdicts: what is accepted is written and read again with the same bytes.
#include "fuzz.h"
#include "task/verdict.h"

namespace kw::fuzz {

KW_FUZZ(verdict, text) {
  round_trip(
      text, [](const Json& value) { return task::verdict_from_json(value, ""); },
      [](const task::Verdict& verdict) { return to_json(verdict); });
}

}  // namespace kw::fuzz
