// Every reader on thousands of damaged files: it never crashes (the sanitizers watch), and what it
// accepts it can write and read again.
#include <functional>

#include <gtest/gtest.h>

#include "base/random.h"
#include "task/definition_json.h"
#include "task/flags.h"
#include "task/kernelbench.h"
#include "task/kernelbench_results.h"
#include "task/policy_json.h"
#include "task/policy_toml.h"
#include "task/solution_json.h"
#include "task/testing/golden.h"
#include "task/trace.h"
#include "task/verdict.h"
#include "task/workload_json.h"
#include "tensor/safetensors.h"
#include "text/literal.h"
#include "text/python_scan.h"

namespace kw::task {
namespace {

// One to four bytes changed, taken out, doubled or exchanged against what parsers stumble over.
std::string damaged(std::string text, Rng& rng) {
  constexpr std::string_view kNasty = "{}[]\":,\\0123456789-.eE\n\t '#=()\x00\xff\xc3";
  std::uint64_t changes = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    std::size_t at = rng.below(text.size());
    std::size_t length = 1 + rng.below(8);
    switch (rng.below(4)) {
      case 0:
        text[at] = kNasty[rng.below(kNasty.size())];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(rng.below(text.size()), length));
        break;
      default:
        text.insert(at, 1, kNasty[rng.below(kNasty.size())]);
    }
  }
  return text;
}

// Calls read on damaged copies; read says whether it accepted, so that the test knows both sides
// were reached.
void torture(const std::string& text, int copies,
             const std::function<bool(const std::string&)>& read) {
  Rng rng(20260101);
  int accepted = 0;
  EXPECT_TRUE(read(text));
  for (int i = 0; i < copies; ++i) {
    std::string copy = damaged(text, rng);
    SCOPED_TRACE(copy.substr(0, 3000));
    accepted += read(copy) ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, copies);
}

// A reader and writer of JSON: accepted documents are written, read and written again with the same
// bytes.
template <typename Read, typename Write>
void torture_json(const std::string& text, Read read, Write write) {
  torture(text, 1500, [&](const std::string& copy) {
    auto parsed = parse_json(copy);
    if (!parsed) return false;
    auto value = read(*parsed);
    if (!value) {
      EXPECT_FALSE(value.error().message().empty());
      EXPECT_EQ(value.error().code(), ErrorCode::kInvalidArgument);
      return false;
    }
    Json written = write(*value);
    auto again = read(written);
    EXPECT_TRUE(again) << message_of(again);
    EXPECT_EQ(again ? write(*again).dump() : "", written.dump());
    return true;
  });
}

TEST(Robustness, JsonReaders) {
  torture_json(
      golden("definition.json"), [](const Json& v) { return definition_from_json(v, ""); },
      [](const Definition& d) { return to_json(d); });
  for (const char* name : {"solution.json", "solution_ptx.json", "solution_triton.json"}) {
    torture_json(
        golden(name), [](const Json& v) { return solution_from_json(v, ""); },
        [](const Candidate& c) { return solution_to_json(c, "d"); });
  }
  for (const char* name : {"verdict.json", "verdict_violation.json"}) {
    torture_json(
        golden(name), [](const Json& v) { return verdict_from_json(v, ""); },
        [](const Verdict& v) { return to_json(v); });
  }
  std::string traces = golden("traces.jsonl");
  torture_json(
      traces.substr(traces.find('\n') + 1,
                    traces.find('\n', traces.find('\n') + 1) - traces.find('\n') - 1),
      [](const Json& v) { return trace_from_json(v, ""); },
      [](const Trace& t) { return to_json(t); });
  torture_json(
      golden("eval_results.json"), [](const Json& v) { return kernelbench_results_from_json(v); },
      [](const KernelBenchResults& r) { return json_of(kernelbench_results_text(r)); });
}

TEST(Robustness, LinesAndToml) {
  Definition definition = definition_from_json(json_of(golden("definition.json")), "").value();
  torture(golden("workloads.jsonl"), 1500, [&](const std::string& copy) {
    auto workloads = workloads_from_jsonl(copy, definition, "w");
    if (!workloads) return false;
    std::string written = workloads_to_jsonl(*workloads, definition.name);
    EXPECT_EQ(
        workloads_to_jsonl(workloads_from_jsonl(written, definition, "w").value(), definition.name),
        written);
    return true;
  });
  torture(golden("policy.toml"), 1500, [&](const std::string& copy) {
    auto policy = policy_from_toml(copy, "p");
    if (!policy) return false;
    auto again = policy_from_toml(policy_to_toml(*policy), "p");
    EXPECT_TRUE(again) << message_of(again);
    EXPECT_EQ(to_json(again.value_or(Policy())).dump(), to_json(*policy).dump());
    return true;
  });
}

TEST(Robustness, PythonAndExpressions) {
  std::string source = golden("19_ReLU.py");
  torture(source, 1500, [](const std::string& copy) {
    text::PythonScan scan(copy);
    for (const text::PythonAssignment& a : scan.assignments()) {
      EXPECT_LE(a.value_begin, a.value_end);
      EXPECT_LE(a.value_end, copy.size());
    }
    auto module = make_module(copy, "Model", {{"batch_size", "16"}});
    if (!module) return false;
    bool set = false;
    text::PythonScan again(module->source);
    for (const text::PythonAssignment& a : again.assignments()) {
      set = set || (a.name == "batch_size" &&
                    module->source.substr(a.value_begin, a.value_end - a.value_begin).find("16") !=
                        std::string::npos);
    }
    EXPECT_TRUE(set);
    return true;
  });
  torture("{'a': (1, -2.5e3, [True, None]), 'b\\n': \"it's\"}", 4000, [](const std::string& copy) {
    auto literal = text::parse_literal(copy);
    if (!literal) return false;
    EXPECT_EQ(repr(text::parse_literal(repr(*literal)).value()), repr(*literal));
    return true;
  });
  torture("ceil_div(M * (N + 1), 256) % -3 - min(M, max(N, 4)) / 2", 4000,
          [](const std::string& copy) {
            auto expression = LaunchExpression::parse(copy);
            if (!expression) return false;
            auto again = LaunchExpression::parse(expression->print());
            EXPECT_TRUE(again) << message_of(again);
            if (!again) return true;
            EXPECT_EQ(again->print(), expression->print());
            const AxisValues axes = {{"M", 1000}, {"N", -7}};
            EXPECT_EQ(again->evaluate(axes).value_or(-1), expression->evaluate(axes).value_or(-1));
            return true;
          });
}

TEST(Robustness, Safetensors) {
  TestFolder folder;
  std::string header =
      R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header + std::string(16, 'x');
  torture(file, 600, [&](const std::string& copy) {
    auto path = folder.write("x.safetensors", copy);
    auto entries = tensor::safetensors_entries(path);
    if (!entries) return false;
    for (const tensor::SafetensorsEntry& entry : *entries) {
      EXPECT_LE(entry.offset + entry.bytes, copy.size());
      auto tensor = tensor::read_safetensor(path, entry.name, 1 << 20);
      EXPECT_TRUE(tensor) << message_of(tensor);
    }
    return true;
  });
}

}  // namespace
}  // namespace kw::task
