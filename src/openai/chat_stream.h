// A streamed answer, put together from its events.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "net/sse.h"
#include "openai/chat_format.h"

namespace kw::openai {

// Not thread-safe.
class ChatStream {
 public:
  // max_bytes: of text and reasoning of all choices.
  explicit ChatStream(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // False when nothing more is wanted: the stream has said [DONE], or failure() is set.
  bool take(const net::SseEvent& event);

  bool begun() const { return begun_; }  // an event came
  // The answer is not cut: [DONE], or every choice that began has its finish reason.
  bool whole() const;
  const std::optional<ReadFailure>& failure() const { return failure_; }

  // What came so far. Without choices kMalformed, as in read_answer.
  ReadResult<AnswerParts> answer() const;
  std::string partial() const;  // text of the first choice
  std::size_t bytes() const { return bytes_; }
  const std::optional<text::Usage>& usage() const { return parts_.usage; }
  const std::string& id() const { return parts_.id; }

 private:
  ReadResult<void> take_data(std::string_view data);
  ReadResult<void> take_choice(const Json& value);

  std::size_t max_bytes_, bytes_ = 0;
  AnswerParts parts_;  // without choices
  std::map<int, Choice> choices_;
  std::optional<ReadFailure> failure_;
  bool begun_ = false, done_ = false;
};

}  // namespace kw::openai
