// kernelwright generate against a server that says what the test wants.
#include "kernelwright/model/remote_generate.h"

#include <cstdlib>

#include <gmock/gmock.h>

#include "base/text.h"
#include "kernelwright/testing/fakes.h"
#include "openai/testing/scripted_server.h"

namespace kw::front {
namespace {

using openai::testing::answer;
using openai::testing::http;
using openai::testing::Received;
using openai::testing::ScriptedServer;
using openai::testing::streamed;
using ::testing::HasSubstr;

class RemoteGenerateTest : public FrontTest {
 protected:
  RemoteGenerateTest() { ::unsetenv("KERNELWRIGHT_API_KEY"); }
  static std::string models(const std::string& list) {
    return http(200, R"({"data": )" + list + "}");
  }
};

TEST_F(RemoteGenerateTest, TheOnlyModelIsAsked) {
  ScriptedServer server({models(R"([{"id": "qwen"}])"), streamed({"he", "llo"})});
  EXPECT_EQ(kernelwright({"generate", "--model", server.url(), "--chat", "hi", "--system", "brief",
                          "--temperature", "0.5", "--top-k", "20", "--seed", "7"}),
            0)
      << console.err_text;
  EXPECT_EQ(console.out_text, "hello\n");
  EXPECT_TRUE(became.empty());
  const Json body = server.received().at(1).json();
  EXPECT_EQ(body["model"], "qwen");
  EXPECT_EQ(body["messages"],
            Json::parse(
                R"([{"role": "system", "content": "brief"}, {"role": "user", "content": "hi"}])"));
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["top_k"], 20);
  EXPECT_EQ(body["seed"], 7);
  EXPECT_EQ(body["max_tokens"], 256);
  EXPECT_FALSE(body.contains("min_p"));
}

TEST_F(RemoteGenerateTest, SeveralModelsNeedAName) {
  ScriptedServer server({models(R"([{"id": "a"}, {"id": "b"}])"), models("[]")});
  EXPECT_EQ(kernelwright({"generate", "--model", server.url(), "--chat", "hi"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("2 models: give --model-name, as a, b"));
  EXPECT_EQ(kernelwright({"generate", "--model", server.url(), "--chat", "hi"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("lists no model"));
}

TEST_F(RemoteGenerateTest, AFileOfPromptsInOrderWithFailuresAsLines) {
  write("p.jsonl",
        R"({"id": "first", "messages": [{"role": "user", "content": "one"}]}
{"id": 2, "messages": [{"role": "user", "content": "bad"}]}

{"messages": [{"role": "user", "content": "three"}], "n": 2, "max_tokens": 5}
)");
  ScriptedServer server([](const Received& request) {
    const std::string text = request.json()["messages"][0]["content"];
    if (text == "bad") return http(400, R"({"error": {"message": "too long"}})");
    return answer("re: " + text);
  });
  EXPECT_EQ(kernelwright({"generate", "--model", server.url(), "--prompts", path("p.jsonl"),
                          "--model-name", "m", "--prompt-price", "1", "--completion-price", "2"}),
            2);
  const auto lines = split(console.out_text, '\n');
  ASSERT_EQ(lines.size(), 4U) << console.out_text << console.err_text;
  const Json first = Json::parse(lines[0]), second = Json::parse(lines[1]),
             third = Json::parse(lines[2]);
  EXPECT_EQ(first["id"], "first");
  EXPECT_EQ(first["choices"][0]["text"], "re: one");
  EXPECT_EQ(first["usage"]["total_tokens"], 15);
  EXPECT_EQ(first["usage"]["estimated"], false);
  EXPECT_DOUBLE_EQ(first["cost"], 20e-6);
  EXPECT_EQ(second["id"], 2);
  EXPECT_EQ(second["error"]["code"], "invalid_argument");
  EXPECT_THAT(second["error"]["message"].get<std::string>(), HasSubstr("too long"));
  EXPECT_EQ(third["choices"][0]["text"], "re: three");
  EXPECT_FALSE(third.contains("id"));
  EXPECT_THAT(console.err_text, HasSubstr("2 answered, 1 failed; 3 tries; 20 + 10 tokens"));
  EXPECT_THAT(console.err_text, HasSubstr("p.jsonl:2: try 1: refused (HTTP 400): too long"));
}

TEST_F(RemoteGenerateTest, AWrongTemplateIsSaid) {
  const std::string prompt = "Write a C++ kernel that adds two vectors of ten million floats.";
  ScriptedServer server({answer(prompt + " And so on.")});
  EXPECT_EQ(kernelwright({"generate", "--model", server.url(), "--chat", prompt, "--model-name",
                          "m", "--json"}),
            0);
  EXPECT_EQ(Json::parse(console.out_text)["choices"][0]["suspicion"], "prompt_echo");
  EXPECT_THAT(console.err_text, HasSubstr("chat template is probably not the model's"));
}

TEST_F(RemoteGenerateTest, TheKeyComesFromTheEnvironment) {
  ScriptedServer server({http(401, R"({"error": {"message": "no sk-cli-secret"}})")});
  ::setenv("KERNELWRIGHT_API_KEY", "sk-cli-secret", 1);
  EXPECT_EQ(
      kernelwright({"generate", "--model", server.url(), "--chat", "hi", "--model-name", "m"}), 2);
  EXPECT_THAT(server.received().at(0).head, HasSubstr("Bearer sk-cli-secret"));
  EXPECT_THAT(console.err_text, HasSubstr("no [key]"));
  EXPECT_THAT(console.err_text + console.out_text, ::testing::Not(HasSubstr("sk-cli-secret")));
  console.err_text.clear();
  EXPECT_EQ(kernelwright({"generate", "--model", server.url(), "--chat", "hi", "--key-env",
                          "KW_NO_SUCH_KEY"}),
            2);
  EXPECT_THAT(console.err_text, HasSubstr("the environment has no KW_NO_SUCH_KEY"));
}

TEST_F(RemoteGenerateTest, WhatAServerDoesNotDo) {
  auto talk = [&](std::vector<std::string> arguments) {
    console.err_text.clear();
    arguments.insert(arguments.begin(), {"generate", "--model", "http://127.0.0.1:1"});
    EXPECT_EQ(kernelwright(arguments), 2);
    return console.err_text;
  };
  write("p.jsonl", R"({"prompt": "a"})");
  write("l.jsonl", R"({"messages": [{"role": "user", "content": "a"}], "logprobs": true})");
  EXPECT_THAT(talk({"--prompt", "a"}), HasSubstr("--chat"));
  EXPECT_THAT(talk({"--prompts", path("p.jsonl")}), HasSubstr("p.jsonl:1: a server gets"));
  EXPECT_THAT(talk({"--prompts", path("l.jsonl")}), HasSubstr("l.jsonl:1: no logprobs"));
  EXPECT_THAT(talk({"--chat", "a", "--tries", "0"}), HasSubstr("--tries"));
  EXPECT_THAT(talk({"--chat", "a", "--deadline", "0"}), HasSubstr("--deadline"));
  EXPECT_THAT(talk({"--chat", "a"}), HasSubstr("asking for the model's name"));
}

}  // namespace
}  // namespace kw::front
