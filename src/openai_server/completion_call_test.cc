// Calls as clients send them, and what is refused with which field.
#include "openai_server/completion_call.h"

#include <gtest/gtest.h>

namespace kw::openai_server {
namespace {

const ServedModel kModel{"m", 512};

ApiResult<CompletionCall> read(const char* text, bool chat) {
  Json body = Json::parse(text);
  if (!body.is_object() || !body.contains("model")) body["model"] = "m";
  return chat ? read_chat_call(body, kModel, 99) : read_completion_call(body, kModel, 99);
}
CompletionCall completion(const char* text) {
  auto call = read(text, false);
  EXPECT_TRUE(call) << call.error().message;
  return call ? *call : CompletionCall{};
}
CompletionCall chat(const char* text) {
  auto call = read(text, true);
  EXPECT_TRUE(call) << call.error().message;
  return call ? *call : CompletionCall{};
}

TEST(OpenAiRequest, DefaultsAreOpenAis) {
  const CompletionCall call = completion(R"({"prompt": "a"})");
  ASSERT_EQ(call.prompts.size(), 1U);
  const link::GenerateRequest& request = call.prompts[0];
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_EQ(request.temperature, 1);
  EXPECT_EQ(request.seed, 99U);
  EXPECT_FALSE(request.logprobs);
  EXPECT_FALSE(call.stream);
  EXPECT_EQ(chat(R"({"messages": [{"role": "user", "content": "a"}]})").prompts[0].max_tokens, 512);
}

TEST(OpenAiRequest, ReadsAllOfACompletion) {
  const CompletionCall call = completion(
      R"({"prompt": ["a", "b"], "n": 3, "max_tokens": 7, "temperature": 0, "top_p": 0.5, "stop": "x", "seed": -1,
          "logprobs": 5, "stream": true, "stream_options": {"include_usage": true}, "user": "u", "metadata": {},
          "logit_bias": {}, "echo": false, "suffix": null, "best_of": 3, "frequency_penalty": 0.0, "top_k": -1,
          "ignore_eos": true, "return_token_ids": true, "something": 1})");
  ASSERT_EQ(call.prompts.size(), 2U);
  EXPECT_EQ(call.sequences(), 6);
  EXPECT_EQ(call.prompts[1].first_sequence, 3U);
  const link::GenerateRequest& request = call.prompts[0];
  EXPECT_EQ(std::get<std::string>(request.prompt), "a");
  EXPECT_EQ(request.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.seed, 18446744073709551615ULL);
  EXPECT_TRUE(request.logprobs);
  EXPECT_EQ(request.top_logprobs, 5);
  EXPECT_TRUE(request.ignore_end);
  EXPECT_TRUE(call.stream && call.include_usage && call.return_token_ids);
}

TEST(OpenAiRequest, PromptsMayBeTokens) {
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(std::get<Ids>(completion(R"({"prompt": [1, 2]})").prompts[0].prompt), (Ids{1, 2}));
  const CompletionCall two = completion(R"({"prompt": [[1], [2, 3]]})");
  ASSERT_EQ(two.prompts.size(), 2U);
  EXPECT_EQ(std::get<Ids>(two.prompts[1].prompt), (Ids{2, 3}));
}

TEST(OpenAiRequest, ReadsAConversation) {
  const CompletionCall call = chat(
      R"({"messages": [{"role": "developer", "content": "s"}, {"role": "user", "name": "n",
          "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
          "max_completion_tokens": 9, "logprobs": true, "top_logprobs": 2, "tools": [], "tool_choice": "none",
          "response_format": {"type": "text"}, "chat_template_kwargs": {"enable_thinking": false}})");
  const link::GenerateRequest& request = call.prompts[0];
  EXPECT_EQ(std::get<std::vector<text::ChatMessage>>(request.prompt),
            (std::vector<text::ChatMessage>{{"system", "s"}, {"user", "ab"}}));
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_TRUE(request.logprobs);
  EXPECT_EQ(request.top_logprobs, 2);
  EXPECT_EQ(request.template_arguments, Json({{"enable_thinking", false}}));
}

struct Refusal {
  const char* body;
  const char* param;
  int status;
};

void expect_refused(const Refusal& refusal, bool is_chat) {
  auto call = read(refusal.body, is_chat);
  ASSERT_FALSE(call) << refusal.body;
  EXPECT_EQ(call.error().status, refusal.status) << refusal.body;
  EXPECT_EQ(call.error().param, refusal.param) << call.error().message;
  EXPECT_FALSE(call.error().message.empty());
}

TEST(OpenAiRequest, NamesTheFieldOfACompletion) {
  for (const Refusal& refusal : std::initializer_list<Refusal>{
           {R"({})", "prompt", 400},
           {R"({"prompt": 1})", "prompt", 400},
           {R"({"prompt": []})", "prompt", 400},
           {R"({"prompt": ["a", 1]})", "prompt[1]", 400},
           {R"({"prompt": [1, -1]})", "prompt", 400},
           {R"({"prompt": [1.5]})", "prompt", 400},
           {R"({"prompt": {"a": "b"}})", "prompt", 400},
           {R"({"prompt": "a", "model": "other"})", "model", 404},
           {R"({"prompt": "a", "model": 3})", "model", 400},
           {R"({"prompt": "a", "n": 0})", "n", 400},
           {R"({"prompt": "a", "n": 129})", "n", 400},
           {R"({"prompt": "a", "max_tokens": 0})", "max_tokens", 400},
           {R"({"prompt": "a", "max_tokens": 1e3})", "max_tokens", 400},
           {R"({"prompt": "a", "temperature": 2.1})", "temperature", 400},
           {R"({"prompt": "a", "temperature": "0"})", "temperature", 400},
           {R"({"prompt": "a", "top_p": 0})", "top_p", 400},
           {R"({"prompt": "a", "top_p": -0.5})", "top_p", 400},
           {R"({"prompt": "a", "min_p": 2})", "min_p", 400},
           {R"({"prompt": "a", "top_k": -2})", "top_k", 400},
           {R"({"prompt": "a", "stop": [""]})", "stop", 400},
           {R"({"prompt": "a", "stop": [1]})", "stop", 400},
           {R"({"prompt": "a", "stop": 1})", "stop", 400},
           {R"({"prompt": "a", "seed": 1.5})", "seed", 400},
           {R"({"prompt": "a", "logprobs": 21})", "logprobs", 400},
           {R"({"prompt": "a", "logprobs": true})", "logprobs", 400},
           {R"({"prompt": "a", "best_of": 2})", "best_of", 400},
           {R"({"prompt": "a", "echo": true})", "echo", 400},
           {R"({"prompt": "a", "suffix": "b"})", "suffix", 400},
           {R"({"prompt": "a", "logit_bias": {"1": 5}})", "logit_bias", 400},
           {R"({"prompt": "a", "presence_penalty": 0.5})", "presence_penalty", 400},
           {R"({"prompt": "a", "stream": "yes"})", "stream", 400},
           {R"({"prompt": "a", "stream_options": {}})", "stream_options", 400},
           {R"({"prompt": "a", "stop_token_ids": [-1]})", "stop_token_ids", 400}})
    expect_refused(refusal, false);
}

TEST(OpenAiRequest, NamesTheFieldOfAConversation) {
  for (
      const Refusal& refusal : std::initializer_list<Refusal>{
          {R"({})", "messages", 400},
          {R"({"messages": []})", "messages", 400},
          {R"({"messages": {}})", "messages", 400},
          {R"({"messages": [1]})", "messages[0]", 400},
          {R"({"messages": [{"content": "a"}]})", "messages[0].role", 400},
          {R"({"messages": [{"role": "tool", "content": "a"}]})", "messages[0].role", 400},
          {R"({"messages": [{"role": "user"}]})", "messages[0].content", 400},
          {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
           "messages[0].content[0].type", 400},
          {R"({"messages": [{"role": "assistant", "content": "a", "tool_calls": [{}]}]})",
           "messages[0].tool_calls", 400},
          {R"({"messages": [{"role": "user", "content": "a"}], "tools": [{}]})", "tools", 400},
          {R"({"messages": [{"role": "user", "content": "a"}], "response_format": {"type": "json_object"}})",
           "response_format", 400},
          {R"({"messages": [{"role": "user", "content": "a"}], "top_logprobs": 2})", "top_logprobs",
           400},
          {R"({"messages": [{"role": "user", "content": "a"}], "max_completion_tokens": -1})",
           "max_completion_tokens", 400},
          {R"({"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"messages": 1}})",
           "chat_template_kwargs.messages", 400}})
    expect_refused(refusal, true);
  EXPECT_FALSE(read_chat_call(Json::array(), kModel, 1));
}

}  // namespace
}  // namespace kw::openai_server
