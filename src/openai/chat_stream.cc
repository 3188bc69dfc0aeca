#include "openai/chat_stream.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kw::openai {

bool ChatStream::take(const net::SseEvent& event) {
  if (done_ || failure_) return false;
  begun_ = true;
  const std::string_view data = trim(event.data);
  if (data.empty()) return true;
  if (data == "[DONE]") {
    done_ = true;
    return false;
  }
  if (event.type == "error") {
    ServerError said = read_error(data);
    failure_ = ReadFailure{outcome_of(0, said), std::move(said.message)};
    return false;
  }
  if (auto taken = take_data(data); !taken) failure_ = std::move(taken).error();
  return !failure_;
}

ReadResult<void> ChatStream::take_data(std::string_view data) {
  KW_TRY(Json body, read_body(data));
  if (parts_.id.empty()) parts_.id = string_or_empty(body, "id");
  if (parts_.model.empty()) parts_.model = string_or_empty(body, "model");
  read_usage(body, parts_.usage);
  auto choices = body.find("choices");
  if (choices == body.end() || choices->is_null()) return {};
  if (!choices->is_array())
    return tl::unexpected(ReadFailure{Outcome::kMalformed, "an event's choices are no list"});
  for (const Json& value : *choices) KW_TRY_STATUS(take_choice(value));
  return {};
}

ReadResult<void> ChatStream::take_choice(const Json& value) {
  if (!value.is_object())
    return tl::unexpected(ReadFailure{Outcome::kMalformed, "a choice is no object"});
  KW_TRY(int index, read_index(value, 0));
  Choice& choice = choices_[index];
  choice.index = index;
  if (auto delta = value.find("delta"); delta != value.end() && delta->is_object()) {
    KW_TRY(MessageText text, read_message(*delta));
    bytes_ += text.text.size() + text.reasoning.size();
    choice.text += text.text;
    choice.reasoning += text.reasoning;
  }
  if (std::string reason = string_or_empty(value, "finish_reason"); !reason.empty())
    choice.finish_reason = std::move(reason);
  if (bytes_ > max_bytes_)
    return tl::unexpected(ReadFailure{
        Outcome::kTooLarge, fmt::format("the answer is longer than {}", format_bytes(max_bytes_))});
  return {};
}

bool ChatStream::whole() const {
  if (failure_) return false;
  if (done_) return true;
  return !choices_.empty() && std::all_of(choices_.begin(), choices_.end(), [](const auto& entry) {
    return !entry.second.finish_reason.empty();
  });
}

ReadResult<AnswerParts> ChatStream::answer() const {
  if (choices_.empty())
    return tl::unexpected(ReadFailure{Outcome::kMalformed, "the stream has no choices"});
  AnswerParts out = parts_;
  for (const auto& [index, choice] : choices_) out.choices.push_back(choice);
  return out;
}

std::string ChatStream::partial() const {
  return choices_.empty() ? std::string() : choices_.begin()->second.text;
}

}  // namespace kw::openai
