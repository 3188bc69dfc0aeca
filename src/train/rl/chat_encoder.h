// ChatEncoder: the tokens that a policy reads before an answer. Answers themselves are never
// encoded: what was sampled stays as it is.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/tokenizer.h"
#include "text/chat_message.h"

namespace kw::train {

class ChatEncoder {
 public:
  // Borrows the tokenizer.
  explicit ChatEncoder(const lm::Tokenizer& tokenizer)
      : tokenizer_(tokenizer), chat_(lm::ChatTemplate::of(tokenizer)) {}

  // A conversation up to where the policy answers. Errors of the chat template.
  Result<std::vector<std::int32_t>> begin(const std::vector<text::ChatMessage>& messages) const;

  // The tokens between the last answer's and the next one: the end of its turn where the answer
  // lacks it, the new messages, and the opening of the policy's turn. so_far: the conversation with
  // the answer as its last message. kUnsupported where the template changes earlier messages.
  Result<std::vector<std::int32_t>> follow(const std::vector<text::ChatMessage>& so_far,
                                           bool answer_has_end,
                                           const std::vector<text::ChatMessage>& next) const;

  // Which tokens of follow() are text of its new messages: 1 for each token whose bytes all are,
  // and else 0, as for what the template writes. A text that the tokenizer changes is not found.
  std::vector<std::uint8_t> contents(const std::vector<std::int32_t>& tokens,
                                     const std::vector<text::ChatMessage>& next) const;

  // Tokens that end an answer: of the turn, of the sequence.
  std::vector<std::int32_t> ends() const;
  // The answer's text, without special tokens.
  std::string text(const std::vector<std::int32_t>& answer) const;

 private:
  Result<std::vector<std::int32_t>> encode(std::string_view text) const;

  const lm::Tokenizer& tokenizer_;
  const lm::ChatTemplate chat_;
};

}  // namespace kw::train
