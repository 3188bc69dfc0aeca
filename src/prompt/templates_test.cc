// Every template against golden files named after its version: a changed text needs a new one.
#include "prompt/templates.h"

#include <set>

#include "base/hash.h"
#include "prompt/extract.h"
#include "prompt/testing/problems.h"
#include "prompt/worked_example.h"

namespace kw::prompt {
namespace {

using task::Language;

PromptOptions with_card() {
  PromptOptions options;
  options.machine = "a CPU, 2 cores";
  options.build_flags = {"-O3", "-march=native"};
  HardwareCard card;
  card.name = "a CPU";
  card.cores = 2;
  card.instruction_sets = {"avx2", "fma"};
  card.l1_data_bytes = 32 << 10;
  card.l2_bytes = 1 << 20;
  card.l3_bytes = 32 << 20;
  card.memory_bytes = std::int64_t{8} << 30;
  card.memory_bytes_per_s = 1.25e10;
  card.software = {{"GCC", "12.2"}};
  options.hardware = card;
  options.graph =
      "sizes M=4\ninput x: float32[M, 8]\n%0 = softmax(self=x) -> float32[M, 8]\nreturn %0\n";
  options.strategy = "fused";
  return options;
}

Template named(std::string_view name) {
  auto found = template_named(name);
  EXPECT_TRUE(found);
  return *found;
}

ChatPrompt softmax_chat(const Template& chosen, Language language,
                        const PromptOptions& options = with_card()) {
  task::Problem problem = scaled_softmax();
  auto chat = chat_prompt(problem, softmax_signature(problem), language, chosen, options);
  EXPECT_TRUE(chat) << chat.error().message();
  return *chat;
}

ChatPrompt refined(const Refinement& refinement, Language language = Language::kCpp) {
  task::Problem problem = scaled_softmax();
  auto chat = refinement_prompt(problem, softmax_signature(problem), language, named("zero_shot"),
                                refinement);
  EXPECT_TRUE(chat) << chat.error().message();
  return *chat;
}

constexpr Language kLanguages[] = {Language::kCpp, Language::kTriton, Language::kPython};

Refinement after_a_compile_error(Language language) {
  const bool cpp = language == Language::kCpp;
  task::Verdict verdict;
  verdict.outcome = cpp ? task::Outcome::kCompileError : task::Outcome::kRuntimeError;
  verdict.diagnostics = {
      cpp ? task::Diagnostic{"compiler",
                             "kernel.cpp:2:3: error: 'foo' was not declared in this scope"}
          : task::Diagnostic{"exception", "NameError: name 'foo' is not defined"}};
  const char* code =
      cpp ? "extern \"C\" void run() {\n  foo();\n}\n" : "def run(x, scale, bias):\n    foo()\n";
  return {{code, "", verdict}, BestSoFar{{1.5, 1.4, 1.6}, 0.25}};
}

TEST(Templates, Golden) {
  std::map<std::string, std::string> texts;
  const auto add = [&texts](const ChatPrompt& chat, Language language, const char* form) {
    ASSERT_EQ(chat.messages.size(), 1U);
    EXPECT_EQ(chat.messages[0].role, "user");
    texts[fmt::format("{}_{}{}.md", chat.template_id, to_string(language), form)] =
        chat.messages[0].content;
  };
  for (const Language language : kLanguages) {
    for (const Template& chosen : templates()) add(softmax_chat(chosen, language), language, "");
    add(refined(after_a_compile_error(language), language), language, "");
  }
  for (const Language language : {Language::kTriton, Language::kPython}) {
    auto module =
        chat_prompt(linear_module(), linear_signature(), language, named("one_shot"), with_card());
    ASSERT_TRUE(module);
    add(*module, language, "_module");
  }
  EXPECT_EQ(texts.size(), 23U);
  expect_versioned_goldens("src/prompt/testdata/prompts", texts);
}

TEST(Templates, ZeroShotIsTheProblemsPrompt) {
  task::Problem problem = scaled_softmax();
  auto text = problem_prompt(problem, softmax_signature(problem), Language::kCpp);
  ASSERT_TRUE(text);
  EXPECT_EQ(softmax_chat(named("zero_shot"), Language::kCpp, {}).messages[0].content, *text);
}

TEST(Templates, CompactIsShortAndNeedsTheGraph) {
  const task::Problem problem = scaled_softmax();
  const task::Signature signature = softmax_signature(problem);
  PromptOptions options = with_card();
  const auto chat = chat_prompt(problem, signature, Language::kCpp, named("compact"), options);
  ASSERT_TRUE(chat);
  const std::string& text = chat->messages[0].content;
  EXPECT_NE(text.find(options.graph + "strategy: fused\n"), std::string::npos);
  EXPECT_LT(2 * text.size(),
            softmax_chat(named("zero_shot"), Language::kCpp).messages[0].content.size());
  options.graph.clear();
  const auto without = chat_prompt(problem, signature, Language::kCpp, named("compact"), options);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code(), ErrorCode::kInvalidArgument);
}

TEST(Templates, SameArgumentsSameText) {
  for (const Template& chosen : templates()) {
    EXPECT_EQ(to_json(softmax_chat(chosen, Language::kCpp)).dump(),
              to_json(softmax_chat(chosen, Language::kCpp)).dump());
  }
}

TEST(Templates, NamesAndVersionsAreUnique) {
  std::set<std::string> ids, texts;
  for (const Template& chosen : templates()) {
    ChatPrompt chat = softmax_chat(chosen, Language::kCpp);
    EXPECT_TRUE(ids.insert(chat.template_id).second);
    EXPECT_TRUE(texts.insert(chat.messages[0].content).second);
  }
  auto unknown = template_named("zero-shot");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("zero_shot"), std::string::npos);
}

TEST(Templates, HardwareNeedsAMachine) {
  task::Problem problem = scaled_softmax();
  auto chat =
      chat_prompt(problem, softmax_signature(problem), Language::kCpp, named("hardware"), {});
  ASSERT_FALSE(chat);
  EXPECT_EQ(chat.error().code(), ErrorCode::kInvalidArgument);
}

TEST(Templates, ExamplesAreAnswersThatCanBeExtracted) {
  for (Language language : {Language::kCpp, Language::kTriton, Language::kPython}) {
    for (bool is_module : {false, true}) {
      WorkedExample example = worked_example(language, is_module);
      std::string entry = is_module && language != Language::kCpp ? "ModelNew" : "run";
      EXPECT_TRUE(defines_entry(example.code, entry, language)) << example.code;
      Extraction found = extract_code("Adds.\n" + fenced(example.code, fence_tag(language)),
                                      language, {entry, text::Finish::kStop, {}});
      EXPECT_EQ(found.code(), std::string(example.code) + "\n");
    }
  }
}

TEST(Refinement, AnEchoOfThePromptIsNotNewCode) {
  std::string previous = "extern \"C\" void run() {\n  old();\n}\n";
  std::string echo = refined({{previous, "", task::Verdict()}}).messages[0].content;
  ExtractOptions options{"run", text::Finish::kStop, {previous}};
  Extraction found = extract_code(echo, Language::kCpp, options);
  EXPECT_TRUE(found.outcome != Extracted::kCode || found.echo) << found.code();
  found = extract_code(echo + "\n```cpp\nextern \"C\" void run() { better(); }\n```\n",
                       Language::kCpp, options);
  EXPECT_EQ(found.code(), "extern \"C\" void run() { better(); }\n");
}

TEST(Chat, FencesAreLongerThanWhatTheyHold) {
  EXPECT_EQ(fenced("x", "cpp"), "```cpp\nx\n```\n");
  EXPECT_EQ(fenced("a ```` b", ""), "`````\na ```` b\n`````\n");
}

TEST(HardwareCard, SaysOnlyWhatIsKnown) {
  EXPECT_EQ(hardware_section({}), "");
  HardwareCard gpu;
  gpu.name = "NVIDIA H200\x1b[31m";
  gpu.compute_capability = "9.0";
  gpu.multiprocessors = 132;
  gpu.l2_bytes = 50 << 20;
  gpu.memory_bytes_per_s = 4.8e12;
  gpu.peak_flops = {{"bfloat16", 9.89e14}};
  std::string text = hardware_section(gpu);
  EXPECT_NE(text.find("- multiprocessors: 132\n"), std::string::npos) << text;
  EXPECT_NE(text.find("- L2 cache: 50"), std::string::npos);
  EXPECT_NE(text.find("4800 GB/s"), std::string::npos) << text;
  EXPECT_NE(text.find("989 TFLOP/s"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("cores"), std::string::npos);
}

}  // namespace
}  // namespace kw::prompt
