#include "openai/suspicion.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace kw::openai {
namespace {

// Of ChatML, Llama 2 and 3, Gemma, Phi, DeepSeek and Mistral.
constexpr std::array<std::string_view, 14> kTokens = {"<|im_start|>",
                                                      "<|im_end|>",
                                                      "<|start_header_id|>",
                                                      "<|end_header_id|>",
                                                      "<|eot_id|>",
                                                      "<|begin_of_text|>",
                                                      "<|endoftext|>",
                                                      "<start_of_turn>",
                                                      "<end_of_turn>",
                                                      "<|assistant|>",
                                                      "<|end|>",
                                                      "[/INST]",
                                                      "<<SYS>>",
                                                      "<\xEF\xBD\x9C"
                                                      "Assistant\xEF\xBD\x9C>"};

bool is_echo(std::string_view text, const text::ChatMessage& message) {
  if (message.role == "assistant") return false;
  std::string_view said = trim(message.content);
  if (said.size() < kMinEchoBytes) return false;
  said = said.substr(0, kEchoBytes);
  return trim(text).substr(0, kEchoWithin + said.size()).find(said) != std::string_view::npos;
}

}  // namespace

Suspicion suspect(const std::string& text, const std::vector<text::ChatMessage>& messages) {
  if (trim(text).empty()) return Suspicion::kEmpty;
  if (std::any_of(messages.begin(), messages.end(),
                  [&](const text::ChatMessage& message) { return is_echo(text, message); }))
    return Suspicion::kPromptEcho;
  auto is_foreign = [&](std::string_view token) {
    return text.find(token) != std::string::npos &&
           std::none_of(messages.begin(), messages.end(), [&](const text::ChatMessage& message) {
             return message.content.find(token) != std::string::npos;
           });
  };
  return std::any_of(kTokens.begin(), kTokens.end(), is_foreign) ? Suspicion::kTemplateTokens
                                                                 : Suspicion::kNone;
}

}  // namespace kw::openai
