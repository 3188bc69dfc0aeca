// The variables that transformers gives a template, and what it does with the result.
#include "lm/tokenizer/chat_template.h"

#include "base/text.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

using text::jinja::Value;

// transformers puts this behind the message to be gone on with and cuts what was rendered there.
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";

constexpr std::string_view kChatMlTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}";
constexpr std::string_view kLlama3Template =
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"
    "{% endif %}";

Value value_of(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  return {};
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view stripped(std::string_view text) {
  return text::jinja::strip_left(text::jinja::strip_right(text));
}

}  // namespace

ChatTemplate ChatTemplate::of(const Tokenizer& tokenizer) {
  const TokenizerConfig& config = tokenizer.config();
  auto has = [&](std::string_view token) { return tokenizer.token_id(token).has_value(); };
  ChatTemplate out;
  for (const auto& [name, token] : config.special_tokens)
    out.special_tokens_.emplace_back(name, Value(token));
  if (!config.chat_template.empty()) {
    out.source_ = config.chat_template;
  } else if (has("<|im_start|>") && has("<|im_end|>")) {
    out.source_ = kChatMlTemplate;
  } else if (has("<|start_header_id|>") && has("<|eot_id|>")) {
    out.source_ = kLlama3Template;
    if (config.bos.empty()) out.special_tokens_.emplace_back("bos_token", "<|begin_of_text|>");
  } else {
    return out;
  }
  auto compiled = text::jinja::Template::compile(out.source_);
  if (compiled) {
    out.jinja_ = std::move(*compiled);
    out.end_of_turn_ = out.find_end_of_turn(tokenizer);
  } else {
    out.not_read_ = std::move(compiled).error();
  }
  return out;
}

// The first special token behind an answer.
std::string ChatTemplate::find_end_of_turn(const Tokenizer& tokenizer) const {
  constexpr std::string_view kAnswer = "kernelwright-answer";
  const text::ChatMessage messages[] = {{"user", "x"}, {"assistant", std::string(kAnswer)}};
  auto text = render(messages, {.end = ChatEnd::kNothing});
  if (!text) return {};
  const std::size_t at = text->rfind(kAnswer);
  if (at == std::string::npos) return {};
  auto behind =
      tokenizer.encode(std::string_view(*text).substr(at + kAnswer.size()), {.add_special = false});
  if (!behind) return {};
  for (TokenId id : *behind) {
    if (tokenizer.is_special(id)) return std::string(tokenizer.token_text(id));
  }
  return {};
}

Result<std::string> ChatTemplate::render_all(std::span<const text::ChatMessage> messages,
                                             const ChatOptions& options) const {
  if (!jinja_) {
    std::string out;
    for (const text::ChatMessage& message : messages) out += message.content;
    return out;
  }
  text::jinja::List conversation;
  for (const text::ChatMessage& message : messages)
    conversation.push_back(
        Value::dict({{"role", Value(message.role)}, {"content", Value(message.content)}}));
  text::jinja::Dict variables = special_tokens_;
  for (const auto& [name, value] : options.arguments.items())
    variables.emplace_back(name, value_of(value));
  variables.emplace_back("messages", Value::list(std::move(conversation)));
  variables.emplace_back("tools", Value());
  variables.emplace_back("documents", Value());
  variables.emplace_back("add_generation_prompt", Value(options.end == ChatEnd::kGenerationPrompt));
  return jinja_->render(variables);
}

Result<std::string> ChatTemplate::render(std::span<const text::ChatMessage> messages,
                                         const ChatOptions& options) const {
  auto with_key = [](Error error) { return std::move(error).with_context("chat_template"); };
  if (not_read_) return tl::unexpected(with_key(*not_read_));
  if (messages.empty()) return fail(ErrorCode::kInvalidArgument, "messages: there are none");
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (!is_utf8(messages[at].content) || !is_utf8(messages[at].role))
      return fail(ErrorCode::kInvalidArgument, "messages[{}].content: not UTF-8", at);
  }
  const bool goes_on = options.end == ChatEnd::kContinueFinal;
  std::vector<text::ChatMessage> tagged(messages.begin(), messages.end());
  if (goes_on) tagged.back().content += kContinueTag;
  auto text = render_all(tagged, options);
  if (!text) return tl::unexpected(with_key(std::move(text).error()));
  std::string out = std::move(*text);
  if (!goes_on) return out;

  std::size_t tag = out.rfind(stripped(kContinueTag));
  const bool reads_content = !jinja_ || contains(source_, "content");
  if (tag == std::string::npos || !contains(out, stripped(messages.back().content)) ||
      !reads_content)
    return fail(
        ErrorCode::kInvalidArgument,
        "messages[{}].content: the chat template changes it, so that it cannot be gone on with",
        messages.size() - 1);
  bool spacing_kept = std::string_view(out).substr(tag).starts_with(kContinueTag);
  out.resize(tag);
  return spacing_kept ? out : std::string(text::jinja::strip_right(out));
}

}  // namespace kw::lm
