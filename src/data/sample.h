// Sample: one row of a training set, a question about a kernel with its answer, and where both
// came from. docs/formats/dataset.md. Plain values, no threads.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "prompt/chat.h"
#include "task/problem.h"

namespace kw::data {

// What the answer was asked to do.
enum class Kind {
  kImplement,   // a kernel from a description
  kConvert,     // a PyTorch module into a kernel
  kDefinition,  // a kernel for a definition
  kRepair,      // a wrong kernel into a right one
  kSpeedup,     // a right kernel into a faster one
  kChat,        // anything else
};
std::string_view to_string(Kind kind);  // "implement", ...
std::optional<Kind> kind_from_string(std::string_view name);

// A problem in a form that needs no other file: what task::Problem is made of again.
struct SampleProblem {
  std::string name;
  std::string hash;       // of the task::Problem
  bool is_module = true;  // a KernelBench module, else a definition
  std::string source;     // the module's Python with `Model`, or the definition's JSON
  Json workloads;         // of a definition: a list as in docs/formats/workload.md; else null
  Json policy;            // as task::to_json(Policy) gives it; null: the default
  // Sources of the same module at other sizes, where an answer has to be right too.
  std::vector<std::string> resized;
};

struct Labels {
  // In an order in which values come before their use: ATen overloads without namespace
  // ("add.Tensor"), once for each use.
  std::vector<std::string> operators;
  // Indices of `operators`: the second uses what the first made. Left out where `operators` is a
  // chain.
  std::optional<std::vector<std::pair<int, int>>> edges;
  std::string graph;  // graph_digest() of the operator graph with its sizes; "": not known
  std::string strategy, tuning;
  std::optional<std::int64_t> tier, depth;
  Json other = Json::object();  // anything else
};

Json to_json(const Labels& labels);  // what is set

// A repair or speed-up sample whose first answer has not been judged: `data filter` judges it, and
// writes the question with what was found.
struct Pending {
  std::string previous;         // the answer that is wrong or slow, with its fences
  std::string prompt_template;  // of src/prompt/templates.h
};

struct Sample {
  static constexpr int kSchema = 1;
  std::string id;  // sample_id()
  Kind kind = Kind::kChat;
  // The last one is the assistant's answer; without it the sample waits for `data teach`.
  std::vector<prompt::Message> messages;
  std::optional<SampleProblem> problem;
  std::string language;          // of the answer's kernel: task::Language's name; "": none
  Json origin = Json::object();  // generator, seed, index; or dataset, row, licences; or teacher
  Labels labels;
  std::string group;  // samples of one group stay on one side of every split
  std::optional<Pending> pending;
  Json verdict;  // null until `data filter` has judged the answer; an object

  bool answered() const { return !messages.empty() && messages.back().role == "assistant"; }
  // The assistant's last message; "" without one.
  const std::string& answer() const;
};

// SHA-256 over kind, messages, language, the problem's hash and what is pending: equal questions
// with equal answers have one id, wherever they came from.
std::string sample_id(const Sample& sample);

// One line without its end. `id` is computed.
std::string to_line(const Sample& sample);
// kInvalidArgument names the key: unknown, missing, of another type, an empty or unknown role, an
// edge out of range. kDataLoss for an id that is not the content's; a row may do without.
Result<Sample> sample_from_json(const Json& value);

SampleProblem sample_problem(const task::Problem& problem);
// origin: for messages. kInvalidArgument for a source that is no problem; kDataLoss when the hash
// is another.
Result<task::Problem> task_problem(const SampleProblem& problem, const std::string& origin);
// Those of `resized`, each under the problem's name.
Result<std::vector<task::Problem>> resized_problems(const SampleProblem& problem,
                                                    const std::string& origin);

}  // namespace kw::data
