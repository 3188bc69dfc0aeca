// Requests for a judgement: what is accepted is written and read again with the same bytes and the
// same hash.
#include "fuzz.h"
#include "gym/eval_request.h"

namespace kw::fuzz {

KW_FUZZ(eval_request, text) {
  const auto value = parse_json(text);
  if (!value) return;
  const auto request = gym::eval_request_from_json(*value, "");
  if (!request) {
    KW_CHECK(!request.error().message().empty());
    return;
  }
  const auto written = gym::to_json(*request);
  if (!written) return;  // inputs in files
  const auto again = gym::eval_request_from_json(*written, "");
  KW_CHECK(again.has_value());
  KW_CHECK(again->hash() == request->hash());
  KW_CHECK(gym::to_json(*again).value().dump() == written->dump());
}

}  // namespace kw::fuzz
