// Conversations as text for a model, equal to what transformers renders from the model's own Jinja
// template (docs/tokenizer.md), or refused with the reason: never another prompt.
//
// Tools are not rendered: templates see none.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/tokenizer/tokenizer.h"
#include "text/chat_message.h"
#include "text/jinja/template.h"

namespace kw::lm {

enum class ChatEnd {
  kNothing,           // after the last message
  kGenerationPrompt,  // the assistant's turn is opened (add_generation_prompt)
  kContinueFinal      // the last message is left open, to be gone on with (continue_final_message)
};

struct ChatOptions {
  ChatEnd end = ChatEnd::kGenerationPrompt;
  // Variables of the template beyond those that transformers sets: {"enable_thinking": false}.
  Json arguments = Json::object();
};

// Immutable: any number of threads may render it.
class ChatTemplate {
 public:
  // The model's own template; one that is not read makes render() fail, with the key and the
  // reason. A tokenizer without one: ChatML or Llama 3 where it has their tokens, or else none().
  static ChatTemplate of(const Tokenizer& tokenizer);
  // Contents one after the other, for base models.
  static ChatTemplate none() { return {}; }

  // Encode the result with EncodeOptions{.add_special = false}: what begins a text is in it.
  // kInvalidArgument for no messages, text that is no UTF-8, what the template refuses
  // (raise_exception), and a last message that it changes, so that it cannot be gone on with.
  // kUnsupported for what the template takes that is not read (text/jinja).
  Result<std::string> render(std::span<const text::ChatMessage> messages,
                             const ChatOptions& options = {}) const;

  // The token that ends the assistant's turn: "<|im_end|>", "<|eot_id|>"; "" where there is none.
  std::string_view end_of_turn() const { return end_of_turn_; }

 private:
  ChatTemplate() = default;
  Result<std::string> render_all(std::span<const text::ChatMessage> messages,
                                 const ChatOptions& options) const;
  std::string find_end_of_turn(const Tokenizer& tokenizer) const;

  std::optional<text::jinja::Template> jinja_;
  std::optional<Error> not_read_;
  std::string source_;
  text::jinja::Dict special_tokens_;
  std::string end_of_turn_;
};

}  // namespace kw::lm
