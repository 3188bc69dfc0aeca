#include "train/rl/chat_encoder.h"

#include <algorithm>

#include "base/text.h"

namespace kw::train {

Result<std::vector<std::int32_t>> ChatEncoder::encode(std::string_view text) const {
  KW_TRY(const std::vector<lm::TokenId> ids, tokenizer_.encode(text, {.add_special = false}));
  return std::vector<std::int32_t>(ids.begin(), ids.end());
}

Result<std::vector<std::int32_t>> ChatEncoder::begin(
    const std::vector<text::ChatMessage>& messages) const {
  KW_TRY(const std::string text, chat_.render(messages));
  return encode(text);
}

Result<std::vector<std::int32_t>> ChatEncoder::follow(
    const std::vector<text::ChatMessage>& so_far, bool answer_has_end,
    const std::vector<text::ChatMessage>& next) const {
  std::vector<text::ChatMessage> all = so_far;
  all.insert(all.end(), next.begin(), next.end());
  KW_TRY(const std::string before, chat_.render(so_far, {.end = lm::ChatEnd::kNothing}));
  KW_TRY(const std::string whole, chat_.render(all));
  if (!whole.starts_with(before))
    return fail(ErrorCode::kUnsupported, "the chat template changes the messages before a turn");
  const std::string_view end = chat_.end_of_turn();
  if (end.empty()) return encode(std::string_view(whole).substr(before.size()));
  const std::size_t at = before.rfind(end);
  return encode(std::string_view(whole).substr(answer_has_end ? at + end.size() : at));
}

std::vector<std::uint8_t> ChatEncoder::contents(const std::vector<std::int32_t>& tokens,
                                                const std::vector<text::ChatMessage>& next) const {
  std::string bytes;
  std::vector<std::size_t> begins;
  for (const std::int32_t token : tokens) {
    begins.push_back(bytes.size());
    bytes += tokenizer_.token_bytes(static_cast<lm::TokenId>(token));
  }
  begins.push_back(bytes.size());
  std::vector<std::uint8_t> out(tokens.size(), 0);
  std::size_t from = 0;
  for (const text::ChatMessage& message : next) {
    const std::string_view text = trim(message.content);
    const std::size_t begin = bytes.find(text, from);
    if (text.empty() || begin == std::string::npos) continue;
    from = begin + text.size();
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (begins[i] >= begin && begins[i + 1] <= from && begins[i] < begins[i + 1]) out[i] = 1;
  }
  return out;
}

std::vector<std::int32_t> ChatEncoder::ends() const {
  std::vector<std::int32_t> out;
  auto add = [&](std::optional<lm::TokenId> id) {
    if (!id) return;
    const auto token = static_cast<std::int32_t>(*id);
    if (std::find(out.begin(), out.end(), token) == out.end()) out.push_back(token);
  };
  if (!chat_.end_of_turn().empty()) add(tokenizer_.token_id(chat_.end_of_turn()));
  add(tokenizer_.eos());
  return out;
}

std::string ChatEncoder::text(const std::vector<std::int32_t>& answer) const {
  const std::vector<lm::TokenId> ids(answer.begin(), answer.end());
  return tokenizer_.decode(ids);
}

}  // namespace kw::train
