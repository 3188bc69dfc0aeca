// The formats, written after what their Jinja templates render without tools.
#include "lm/tokenizer/chat_template.h"

#include <array>

#include "base/text.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

constexpr std::string_view kQwen25System =
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
constexpr std::string_view kThink = "<think>";
constexpr std::string_view kEndThink = "</think>";
// transformers puts this behind the message to be gone on with and cuts what was rendered there.
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";

// Python's str.strip(): white space and the four separators of ASCII.
bool is_python_space(char32_t code) {
  return (class_of(code) & kSpace) != 0 || (code >= 0x1C && code <= 0x1F);
}

std::string_view rstrip(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!is_python_space(read_utf8(text.substr(begin)).code)) break;
    text = text.substr(0, begin);
  }
  return text;
}

std::string_view strip(std::string_view text) {
  text = rstrip(text);
  for (Utf8Character c = read_utf8(text); c.length > 0 && is_python_space(c.code);
       c = read_utf8(text))
    text.remove_prefix(c.length);
  return text;
}

std::string_view strip_newlines_left(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

std::string_view strip_newlines_right(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

// text.split(separator)[0] and [-1]
std::string_view before_first(std::string_view text, std::string_view separator) {
  return text.substr(0, text.find(separator));
}
std::string_view behind_last(std::string_view text, std::string_view separator) {
  auto at = text.rfind(separator);
  return at == std::string_view::npos ? text : text.substr(at + separator.size());
}

// A literal of a Jinja template, with \n and \\ undone.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char next = at + 1 < text.size() ? text[at + 1] : '\0';
    bool escape = text[at] == '\\' && (next == 'n' || next == '\\');
    out += !escape ? text[at] : next == 'n' ? '\n' : '\\';
    if (escape) ++at;
  }
  return out;
}

// The system message that a ChatML template writes where the conversation has none: the literal
// text behind "<|im_start|>system\n", "" where there is none.
std::string default_system_of(std::string_view jinja) {
  constexpr std::string_view kOpening = "<|im_start|>system";
  for (std::size_t at = jinja.find(kOpening); at != std::string_view::npos;
       at = jinja.find(kOpening, at + 1)) {
    std::string_view rest = jinja.substr(at + kOpening.size());
    if (rest.starts_with("\\n"))
      rest.remove_prefix(2);
    else if (rest.starts_with("\n"))
      rest.remove_prefix(1);
    else
      continue;
    std::string_view text = before_first(rest, "<|im_end|>");
    if (!text.empty() && text.size() < rest.size() &&
        text.find_first_of("'\"{}") == std::string_view::npos)
      return unescaped(text);
  }
  return {};
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

ChatTemplate ChatTemplate::make(Format format, std::string bos, std::string default_system) {
  return {format, std::move(bos), std::move(default_system)};
}

Result<ChatTemplate> ChatTemplate::by_name(std::string_view name) {
  if (name == "none") return make(Format::kNone);
  if (name == "chatml") return make(Format::kChatMl);
  if (name == "qwen2.5") return make(Format::kChatMl, "", std::string(kQwen25System));
  if (name == "qwen3") return make(Format::kQwen3);
  if (name == "llama3") return make(Format::kLlama3);
  if (name == "llama3.1") return make(Format::kLlama31);
  std::string hint = nearest(name, {"none", "chatml", "qwen2.5", "qwen3", "llama3", "llama3.1"});
  return fail(
      ErrorCode::kInvalidArgument,
      "chat template \"{}\" is unknown{}; there are none, chatml, qwen2.5, qwen3, llama3, llama3.1",
      printable(name, 40), hint.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", hint));
}

Result<ChatTemplate> ChatTemplate::detect(const Tokenizer& tokenizer) {
  const std::string& jinja = tokenizer.config().chat_template;
  std::string bos = tokenizer.config().bos;
  auto has = [&](std::string_view token) { return tokenizer.token_id(token).has_value(); };
  if (jinja.empty()) {
    if (has("<|im_start|>") && has("<|im_end|>")) return make(Format::kChatMl);
    if (has("<|start_header_id|>") && has("<|eot_id|>"))
      return make(Format::kLlama3, bos.empty() ? "<|begin_of_text|>" : bos);
    return make(Format::kNone);
  }
  if (contains(jinja, "<|start_header_id|>") && contains(jinja, "<|eot_id|>")) {
    bool dated = contains(jinja, "Cutting Knowledge Date: December 2023");
    return make(dated ? Format::kLlama31 : Format::kLlama3, bos);
  }
  if (contains(jinja, "<|im_start|>") && contains(jinja, "<|im_end|>")) {
    if (contains(jinja, "last_query_index") && contains(jinja, kEndThink)) {
      ChatTemplate out = make(Format::kQwen3);
      out.opens_thinking_ = contains(jinja, "<|im_start|>assistant\\n<think>\\n") ||
                            contains(jinja, "<|im_start|>assistant\n<think>\n");
      return out;
    }
    if (!contains(jinja, kEndThink)) return make(Format::kChatMl, "", default_system_of(jinja));
  }
  return fail(ErrorCode::kUnsupported,
              "tokenizer_config.json: chat_template: of none of the formats that are rendered "
              "(ChatML, Qwen 3, Llama 3); name one");
}

std::string_view ChatTemplate::end_of_turn() const {
  switch (format_) {
    case Format::kNone:
      return "";
    case Format::kChatMl:
    case Format::kQwen3:
      return "<|im_end|>";
    case Format::kLlama3:
    case Format::kLlama31:
      return "<|eot_id|>";
  }
  return "";
}

std::string ChatTemplate::chat_ml(std::span<const ChatMessage> messages,
                                  const ChatOptions& options) const {
  std::string out;
  if (messages[0].role != "system" && !default_system_.empty())
    out += "<|im_start|>system\n" + default_system_ + "<|im_end|>\n";
  for (const ChatMessage& message : messages)
    out += "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n";
  if (options.end == ChatEnd::kGenerationPrompt) out += "<|im_start|>assistant\n";
  return out;
}

std::string ChatTemplate::qwen3(std::span<const ChatMessage> messages,
                                const ChatOptions& options) const {
  // The last question: a user's message that is no answer of a tool.
  std::size_t last_query = messages.size() - 1;
  for (std::size_t at = messages.size(); at-- > 0;) {
    std::string_view content = messages[at].content;
    bool tool_answer =
        content.starts_with("<tool_response>") && content.ends_with("</tool_response>");
    if (messages[at].role == "user" && !tool_answer) {
      last_query = at;
      break;
    }
  }
  std::string out;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const ChatMessage& message = messages[at];
    out += "<|im_start|>" + message.role + "\n";
    std::string_view content = message.content;
    if (message.role == "assistant") {
      std::string_view thought;
      if (contains(content, kEndThink)) {
        thought = strip_newlines_right(before_first(content, kEndThink));
        thought = strip_newlines_left(behind_last(thought, kThink));
        content = strip_newlines_left(behind_last(content, kEndThink));
      }
      if (at > last_query && (at + 1 == messages.size() || !thought.empty())) {
        out += "<think>\n";
        out += strip_newlines_left(strip_newlines_right(thought));
        out += "\n</think>\n\n";
        content = strip_newlines_left(content);
      }
    }
    out += content;
    out += "<|im_end|>\n";
  }
  if (options.end == ChatEnd::kGenerationPrompt) {
    out += "<|im_start|>assistant\n";
    if (opens_thinking_)
      out += "<think>\n";
    else if (!options.enable_thinking)
      out += "<think>\n\n</think>\n\n";
  }
  return out;
}

std::string ChatTemplate::llama3(std::span<const ChatMessage> messages,
                                 const ChatOptions& options) const {
  auto header = [](std::string_view role) {
    return fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n", role);
  };
  std::string out = bos_;
  if (format_ == Format::kLlama31) {
    out += header("system");
    out += "Cutting Knowledge Date: December 2023\nToday Date: " + options.date + "\n\n";
    if (messages[0].role == "system") {
      out += strip(messages[0].content);
      messages = messages.subspan(1);
    }
    out += "<|eot_id|>";
  }
  for (const ChatMessage& message : messages) {
    out += header(message.role);
    out += strip(message.content);
    out += "<|eot_id|>";
  }
  if (options.end == ChatEnd::kGenerationPrompt) out += header("assistant");
  return out;
}

std::string ChatTemplate::render_all(std::span<const ChatMessage> messages,
                                     const ChatOptions& options) const {
  switch (format_) {
    case Format::kNone:
      break;
    case Format::kChatMl:
      return chat_ml(messages, options);
    case Format::kQwen3:
      return qwen3(messages, options);
    case Format::kLlama3:
    case Format::kLlama31:
      return llama3(messages, options);
  }
  std::string out;
  for (const ChatMessage& message : messages) out += message.content;
  return out;
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages,
                                         const ChatOptions& options) const {
  if (messages.empty()) return fail(ErrorCode::kInvalidArgument, "messages: there are none");
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const std::string& role = messages[at].role;
    if (role != "system" && role != "user" && role != "assistant")
      return fail(ErrorCode::kInvalidArgument,
                  "messages[{}].role: \"{}\" is none of system, user and assistant", at,
                  printable(role, 40));
    if (!is_utf8(messages[at].content))
      return fail(ErrorCode::kInvalidArgument, "messages[{}].content: not UTF-8", at);
  }
  if (options.end != ChatEnd::kContinueFinal) return render_all(messages, options);

  std::vector<ChatMessage> tagged(messages.begin(), messages.end());
  tagged.back().content += kContinueTag;
  std::string out = render_all(tagged, options);
  std::size_t tag = out.rfind(rstrip(kContinueTag));
  if (tag == std::string::npos || !contains(out, strip(messages.back().content)))
    return fail(
        ErrorCode::kInvalidArgument,
        "messages[{}].content: the chat template changes it, so that it cannot be gone on with",
        messages.size() - 1);
  bool spacing_kept = std::string_view(out).substr(tag).starts_with(kContinueTag);
  out.resize(tag);
  return spacing_kept ? out : std::string(rstrip(out));
}

}  // namespace kw::lm
