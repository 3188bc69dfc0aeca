// Conversations as text for a model, equal to what transformers renders from the model's own Jinja
// template (docs/tokenizer.md).
//
// Roles are system, user and assistant; tools are not rendered.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lm/tokenizer/tokenizer.h"

namespace kw::lm {

struct ChatMessage {
  std::string role;     // "system", "user" or "assistant"
  std::string content;  // UTF-8
};

enum class ChatEnd {
  kNothing,           // after the last message
  kGenerationPrompt,  // the assistant's turn is opened (add_generation_prompt)
  kContinueFinal      // the last message is left open, to be gone on with (continue_final_message)
};

struct ChatOptions {
  ChatEnd end = ChatEnd::kGenerationPrompt;
  bool enable_thinking = true;       // Qwen 3: false closes the thinking section before it begins
  std::string date = "26 Jul 2024";  // Llama 3.1 and later: date_string, today's as "%d %b %Y"
};

class ChatTemplate {
 public:
  enum class Format {
    kNone,     // contents one after the other, for base models
    kChatMl,   // <|im_start|>role ... <|im_end|>: Qwen 2, Qwen 2.5, Qwen 3 2507, and models of ours
    kQwen3,    // ChatML that keeps thinking only in turns after the last question
    kLlama3,   // <|start_header_id|>role<|end_header_id|>, contents stripped
    kLlama31,  // the same with the dates of Llama 3.1 and later in the system message
  };

  // kUnsupported when the model's own template is of no format above, naming the file's key.
  // A tokenizer without a template: ChatML or Llama 3 where it has their tokens, or else none.
  static Result<ChatTemplate> detect(const Tokenizer& tokenizer);
  // default_system: the system message of ChatML where the first message is no other.
  static ChatTemplate make(Format format, std::string bos = "<|begin_of_text|>",
                           std::string default_system = "");
  // "none", "chatml", "qwen2.5", "qwen3", "llama3", "llama3.1"; kInvalidArgument with the nearest.
  static Result<ChatTemplate> by_name(std::string_view name);

  // Encode the result with EncodeOptions{.add_special = false}: what begins a text is in it.
  // kInvalidArgument for no messages, an unknown role, text that is no UTF-8, or a last message
  // that its format changes, so that it cannot be gone on with.
  Result<std::string> render(std::span<const ChatMessage> messages,
                             const ChatOptions& options = {}) const;

  Format format() const { return format_; }
  // What ends the assistant's turn: "<|im_end|>", "<|eot_id|>", "" for none.
  std::string_view end_of_turn() const;

 private:
  ChatTemplate(Format format, std::string bos, std::string default_system)
      : format_(format), bos_(std::move(bos)), default_system_(std::move(default_system)) {}
  std::string render_all(std::span<const ChatMessage> messages, const ChatOptions& options) const;
  std::string chat_ml(std::span<const ChatMessage> messages, const ChatOptions& options) const;
  std::string qwen3(std::span<const ChatMessage> messages, const ChatOptions& options) const;
  std::string llama3(std::span<const ChatMessage> messages, const ChatOptions& options) const;

  Format format_;
  std::string bos_;
  std::string default_system_;
  bool opens_thinking_ = false;  // Qwen 3 Thinking 2507: the assistant's turn begins with <think>
};

}  // namespace kw::lm
