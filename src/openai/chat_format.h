// The bodies of a chat completion as JSON: a request out, an answer or an error in. A server may
// say anything: what is no answer is told apart from what is one with parts missing. Free functions
// without state.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/json.h"
#include "base/result.h"
#include "openai/attempt.h"
#include "openai/chat.h"

namespace kw::openai {

// kInvalidArgument names the field: no model, no messages, ranges, text that is not UTF-8.
Result<std::string> request_body(const ChatRequest& request, bool max_completion_tokens);

// What a server says in the place of an answer.
struct ServerError {
  int status = 0;  // of the body: 0 where it has none
  std::string code, type, message;
};
// {"error": {...}} as OpenAI, {"error": "..."}, {"detail": ...}, {"message": ...}, or the bytes
// themselves. Not printable yet.
ServerError read_error(std::string_view body);
// Of an HTTP status that is not 2xx, or of an error in a body with 200 (status 0).
Outcome outcome_of(int status, const ServerError& error);

struct AnswerParts {
  std::vector<Choice> choices;       // by index; suspicion is not looked at
  std::optional<text::Usage> usage;  // nullopt: the server did not tell
  std::string id, model;
};
struct ReadFailure {
  Outcome outcome = Outcome::kMalformed;
  std::string message;  // not printable yet
};
template <typename T>
using ReadResult = tl::expected<T, ReadFailure>;

// A whole answer, not streamed. Strict about what would lose or mix up text, and about nothing
// else: null content is empty text, usage that makes no sense is none.
ReadResult<AnswerParts> read_answer(std::string_view body);

// What both forms of an answer share.
ReadResult<Json> read_body(std::string_view body);  // an object that is no error
inline constexpr std::int64_t kMaxIndex = 1023;
ReadResult<int> read_index(const Json& choice, int fallback);
// Text, null, or parts with text. In a stream `message` is "delta".
struct MessageText {
  std::string text, reasoning;
};
ReadResult<MessageText> read_message(const Json& message);
// Leaves `usage` as it is where the body has none.
void read_usage(const Json& body, std::optional<text::Usage>& usage);
std::string string_or_empty(const Json& object, const char* key);

// Names of GET /v1/models.
ReadResult<std::vector<std::string>> read_models(std::string_view body);

}  // namespace kw::openai
