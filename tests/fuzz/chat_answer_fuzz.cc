// Answers of chat servers: a whole body, an error, a list of models, a stream. What is taken is in
// order and UTF-8; a stream gives the same whatever pieces it comes in.
#include "fuzz.h"
#include "net/sse.h"
#include "openai/chat_format.h"
#include "openai/chat_stream.h"
#include "openai/suspicion.h"

namespace kw::fuzz {
namespace {

constexpr std::size_t kMaxBytes = 4096;

void check_parts(const openai::AnswerParts& parts) {
  KW_CHECK(!parts.choices.empty());
  int last = -1;
  for (const openai::Choice& choice : parts.choices) {
    KW_CHECK(choice.index > last && choice.index <= openai::kMaxIndex);
    last = choice.index;
    KW_CHECK(is_valid_utf8(choice.text) && is_valid_utf8(choice.reasoning));
    KW_CHECK(is_valid_utf8(choice.finish_reason));
    openai::suspect(choice.text, {{"user", choice.reasoning}});
  }
  if (!parts.usage) return;
  const text::Usage& usage = *parts.usage;
  KW_CHECK(usage.prompt_tokens >= 0 && usage.completion_tokens >= 0);
  KW_CHECK(usage.cached_tokens >= 0 && usage.cached_tokens <= usage.prompt_tokens);
}

void check_failure(const openai::ReadFailure& failure) {
  KW_CHECK(failure.outcome != openai::Outcome::kAnswered);
  KW_CHECK(!failure.message.empty() || failure.outcome != openai::Outcome::kMalformed);
  KW_CHECK(printable(failure.message, openai::kMaxMessage).size() <= kMaxMessage);
}

openai::ChatStream stream_of(std::string_view bytes, std::size_t piece) {
  openai::ChatStream out(kMaxBytes);
  net::SseParser parser;
  bool go_on = true;
  for (; go_on && !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    KW_CHECK(accepted(parser.feed(bytes.substr(0, piece), [&](const net::SseEvent& event) {
      go_on = out.take(event);
      return go_on;
    })));
  }
  return out;
}

void check_stream(std::string_view text) {
  openai::ChatStream whole = stream_of(text, text.size() + 1), pieces = stream_of(text, 7);
  KW_CHECK(whole.whole() == pieces.whole() && whole.partial() == pieces.partial());
  KW_CHECK(whole.failure().has_value() == pieces.failure().has_value());
  if (whole.failure()) {
    KW_CHECK(!whole.whole());
    check_failure(*whole.failure());
    return;
  }
  KW_CHECK(whole.bytes() <= kMaxBytes);
  auto answer = whole.answer();
  if (answer)
    check_parts(*answer);
  else
    check_failure(answer.error());
}

}  // namespace

KW_FUZZ(chat_answer, text) {
  auto answer = openai::read_answer(text);
  if (answer)
    check_parts(*answer);
  else
    check_failure(answer.error());
  const openai::ServerError error = openai::read_error(text);
  for (int status : {0, 400, 429, 500}) openai::outcome_of(status, error);
  if (auto names = openai::read_models(text); !names) check_failure(names.error());
  check_stream(text);
}

}  // namespace kw::fuzz
