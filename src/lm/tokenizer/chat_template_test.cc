// Renderings that transformers gave for the models' own templates, detection, refused
// conversations.
#include "lm/tokenizer/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/test_tokenizer.h"

namespace kw::lm {
namespace {

using ::testing::HasSubstr;
using Format = ChatTemplate::Format;
using Messages = std::vector<ChatMessage>;

std::string render(std::string_view name, const Messages& messages,
                   const ChatOptions& options = {}) {
  auto chat = ChatTemplate::by_name(name);
  EXPECT_TRUE(chat);
  auto text = chat->render(messages, options);
  return text ? *text : "refused: " + text.error().message();
}

TEST(ChatTemplate, Qwen25AddsItsSystemMessage) {
  EXPECT_EQ(render("qwen2.5", {{"user", "Hi"}}),
            "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
            "assistant.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render("qwen2.5", {{"system", ""}, {"user", "Hi"}}, {.end = ChatEnd::kNothing}),
            "<|im_start|>system\n<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n");
}

TEST(ChatTemplate, Qwen3KeepsThinkingOfTheLastTurnOnly) {
  Messages messages = {{"user", "1"},
                       {"assistant", "<think>\na\n</think>\n\nA"},
                       {"user", "2"},
                       {"assistant", "<think>\nb\n</think>\n\nB"}};
  EXPECT_EQ(render("qwen3", messages, {.end = ChatEnd::kNothing}),
            "<|im_start|>user\n1<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
            "<|im_start|>user\n2<|im_end|>\n<|im_start|>assistant\n<think>\nb\n</"
            "think>\n\nB<|im_end|>\n");
  EXPECT_EQ(render("qwen3", {{"user", "Hi"}}, {.enable_thinking = false}),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

TEST(ChatTemplate, Llama3StripsContents) {
  EXPECT_EQ(render("llama3", {{"system", " Be brief.\n"}, {"user", "Hi "}}),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(ChatTemplate, Llama31HasDates) {
  EXPECT_EQ(
      render("llama3.1", {{"user", "Hi"}}, {.date = "01 Feb 2025"}),
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "
      "December 2023\nToday Date: 01 Feb 2025\n\n<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(ChatTemplate, ContinuesTheFinalMessage) {
  Messages messages = {{"user", "Count."}, {"assistant", "One, two, "}};
  ChatOptions go_on{.end = ChatEnd::kContinueFinal};
  EXPECT_EQ(render("chatml", messages, go_on),
            "<|im_start|>user\nCount.<|im_end|>\n<|im_start|>assistant\nOne, two, ");
  EXPECT_EQ(render("llama3", messages, go_on),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nCount.<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nOne, two,");
  EXPECT_EQ(
      render("qwen3", {{"user", "x"}, {"assistant", "<think>\nso"}}, go_on),
      "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<think>\nso");
  EXPECT_THAT(render("qwen3", {{"user", "x"}, {"assistant", "<think>a</think>b"}}, go_on),
              HasSubstr("refused: messages[1].content"));
}

TEST(ChatTemplate, NoneIsTheContents) {
  EXPECT_EQ(render("none", {{"user", "a"}, {"assistant", "b"}}), "ab");
}

TEST(ChatTemplate, Refuses) {
  EXPECT_THAT(render("chatml", {}), HasSubstr("messages: there are none"));
  EXPECT_THAT(render("chatml", {{"tool", "x"}}), HasSubstr("messages[0].role: \"tool\""));
  EXPECT_THAT(render("chatml", {{"user", "\xFF"}}), HasSubstr("messages[0].content: not UTF-8"));
  EXPECT_THAT(ChatTemplate::by_name("qwen").error().message(),
              HasSubstr("did you mean \"qwen3\"?"));
}

Result<ChatTemplate> detect(const std::string& jinja, std::vector<std::string> special = {}) {
  auto tokenizer = Tokenizer::from_json(testing::tokenizer_json({}, special), nullptr, jinja);
  EXPECT_TRUE(tokenizer);
  return ChatTemplate::detect(*tokenizer);
}

TEST(ChatTemplate, Detects) {
  EXPECT_EQ(detect("")->format(), Format::kNone);
  EXPECT_EQ(detect("", {"<|im_start|>", "<|im_end|>"})->format(), Format::kChatMl);
  EXPECT_EQ(detect("", {"<|start_header_id|>", "<|eot_id|>"})->format(), Format::kLlama3);
  EXPECT_EQ(detect("'<|start_header_id|>' '<|eot_id|>'")->format(), Format::kLlama3);
  EXPECT_EQ(
      detect("<|start_header_id|> <|eot_id|> Cutting Knowledge Date: December 2023")->format(),
      Format::kLlama31);
  EXPECT_EQ(detect("<|im_start|> <|im_end|> ns.last_query_index </think>")->format(),
            Format::kQwen3);
  auto other = detect("[INST]");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(other.error().message(), HasSubstr("chat_template"));
  EXPECT_FALSE(detect("<|im_start|> <|im_end|> </think>"));  // thinking by other rules
}

TEST(ChatTemplate, FindsTheDefaultSystemMessage) {
  auto chat = detect(
      "{%- if m %}{{- '<|im_start|>system\\n' + m + '<|im_end|>\\n' }}{%- else %}"
      "{{- '<|im_start|>system\\nUse \\\\boxed.<|im_end|>\\n' }}{%- endif %}");
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->render(Messages{{"user", "x"}}, {.end = ChatEnd::kNothing}),
            "<|im_start|>system\nUse \\boxed.<|im_end|>\n<|im_start|>user\nx<|im_end|>\n");
}

TEST(ChatTemplate, EndOfTurn) {
  EXPECT_EQ(ChatTemplate::by_name("qwen3")->end_of_turn(), "<|im_end|>");
  EXPECT_EQ(ChatTemplate::by_name("llama3.1")->end_of_turn(), "<|eot_id|>");
  EXPECT_EQ(ChatTemplate::by_name("none")->end_of_turn(), "");
}

}  // namespace
}  // namespace kw::lm
