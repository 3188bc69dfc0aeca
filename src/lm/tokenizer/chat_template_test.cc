// Prompts that transformers gives for the same templates, and conversations that are refused.
// tests/tokenizer/cross_check.py compares many templates and conversations.
#include "lm/tokenizer/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::lm {
namespace {

using ::testing::HasSubstr;
using Messages = std::vector<text::ChatMessage>;

const std::vector<std::string> kLlama = {"<|begin_of_text|>", "<|start_header_id|>",
                                         "<|end_header_id|>", "<|eot_id|>"};

ChatTemplate made(const std::string& jinja,
                  const std::vector<std::string>& special = {"<|im_start|>", "<|im_end|>", "<s>"},
                  const Json& config = Json::object()) {
  auto tokenizer = Tokenizer::from_json(testing::tokenizer_json({}, special), &config, jinja);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message();
  return ChatTemplate::of(*tokenizer);
}

std::string render(const ChatTemplate& chat, const Messages& messages,
                   const ChatOptions& options = {}) {
  auto text = chat.render(messages, options);
  return text ? *text : "refused: " + text.error().message();
}

// These were rendered as another prompt once: nobody noticed.
TEST(ChatTemplate, DefaultSystemMessageByVariable) {
  const ChatTemplate chat = made(
      "{% set system_message = 'You are a helpful assistant.' %}{% if messages[0]['role'] == "
      "'system' %}{% set system_message = messages[0]['content'] %}{% set rest = messages[1:] %}"
      "{% else %}{% set rest = messages %}{% endif %}{% if system_message is defined %}"
      "{{ '<|im_start|>system\\n' + system_message + '<|im_end|>\\n' }}{% endif %}"
      "{% for message in rest %}{{ message['role'] + message['content'] }}{% endfor %}");
  EXPECT_EQ(render(chat, {{"user", "Hi"}}),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\nuserHi");
  EXPECT_EQ(render(chat, {{"system", "s"}, {"user", "Hi"}}),
            "<|im_start|>system\ns<|im_end|>\nuserHi");
}

TEST(ChatTemplate, BeginOfTextAndThinking) {
  const char* jinja =
      "{{ bos_token }}{% for m in messages %}{{ m['role'] + ':' + m['content'] }}{% endfor %}"
      "{% if add_generation_prompt %}{{ 'assistant:<think>\\n' }}{% endif %}{{ unk_token }}";
  EXPECT_EQ(render(made(jinja, {"<s>"}, {{"bos_token", "<s>"}}), {{"user", "Hi"}}),
            "<s>user:Hiassistant:<think>\n");
  EXPECT_EQ(render(made(jinja), {{"user", "Hi"}}, {.end = ChatEnd::kNothing}), "user:Hi");
}

TEST(ChatTemplate, ArgumentsAreVariables) {
  const ChatTemplate chat = made(
      "{% if enable_thinking is defined and enable_thinking is false %}no{% endif %}"
      "{{ date_string }}{% if tools %}tools{% endif %}{{ messages[0].content }}");
  EXPECT_EQ(render(chat, {{"user", "x"}}), "x");
  EXPECT_EQ(render(chat, {{"user", "x"}},
                   {.arguments = {{"enable_thinking", false}, {"date_string", "1 May"}}}),
            "no1 Mayx");
}

TEST(ChatTemplate, ContinuesTheFinalMessage) {
  Messages messages = {{"user", "Count."}, {"assistant", "One, two, "}};
  ChatOptions go_on{.end = ChatEnd::kContinueFinal};
  EXPECT_EQ(render(made(""), messages, go_on),
            "<|im_start|>user\nCount.<|im_end|>\n<|im_start|>assistant\nOne, two, ");
  EXPECT_EQ(render(made("", kLlama), messages, go_on),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nCount.<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nOne, two,");
  EXPECT_THAT(render(made("{{ messages[-1].content.split('/')[-1] }}"),
                     {{"user", "x"}, {"assistant", "a/b"}}, go_on),
              HasSubstr("refused: messages[1].content"));
}

TEST(ChatTemplate, WithoutATemplate) {
  EXPECT_EQ(render(made("", {"<s>"}), {{"user", "a"}, {"assistant", "b"}}), "ab");
  EXPECT_EQ(render(ChatTemplate::none(), {{"user", "a"}}), "a");
  EXPECT_EQ(render(made(""), {{"user", "a"}}),
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render(made("", kLlama), {{"user", " a "}}, {.end = ChatEnd::kNothing}),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>");
}

TEST(ChatTemplate, Refuses) {
  EXPECT_THAT(render(made(""), {}), HasSubstr("messages: there are none"));
  EXPECT_THAT(render(made(""), {{"user", "\xFF"}}), HasSubstr("messages[0].content: not UTF-8"));
  EXPECT_EQ(render(made("{% if messages[0].role != 'user' %}{{ raise_exception('User first!') }}"
                        "{% endif %}"),
                   {{"system", "x"}}),
            "refused: chat_template: line 1: User first!");
  EXPECT_EQ(render(made("a\n{% include 'b' %}"), {{"user", "x"}}),
            "refused: chat_template: line 2: \"include\" is not read");
  EXPECT_THAT(render(made("{{ strftime_now('%Y') }}"), {{"user", "x"}}),
              HasSubstr("refused: chat_template: line 1: strftime_now"));
}

TEST(ChatTemplate, EndOfTurn) {
  EXPECT_EQ(made("").end_of_turn(), "<|im_end|>");
  EXPECT_EQ(made("", kLlama).end_of_turn(), "<|eot_id|>");
  EXPECT_EQ(made("{% for m in messages %}{{ m.content }} <s>{% endfor %}").end_of_turn(), "<s>");
  EXPECT_EQ(made("{{ messages[0].content }}").end_of_turn(), "");
  EXPECT_EQ(ChatTemplate::none().end_of_turn(), "");
}

}  // namespace
}  // namespace kw::lm
