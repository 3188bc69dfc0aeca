// Messages between supervisor and checker: what was read is written and read again.
#include "fuzz.h"
#include "gym/messages/checker_messages.h"

namespace kw::fuzz {

KW_FUZZ(checker_message, text) {
  round_trip(text, gym::checker_request_from_json,
             [](const gym::CheckerRequest& request) { return to_json(request); });
  round_trip(text, gym::checker_answer_from_json,
             [](const gym::CheckerAnswer& answer) { return to_json(answer); });
}

}  // namespace kw::fuzz
