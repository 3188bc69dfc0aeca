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
#include "task/portable_problem.h"
#include "task/problem.h"

namespace kw::data {

// The task that the question sets.
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

struct SampleProblem : task::PortableProblem {
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

Json to_json(const Labels& labels);  // only the labels that are set

// The earlier answer of a repair or speed-up sample that has not been judged. `data filter` judges
// it, and writes the question with the gym's finding.
struct Pending {
  std::string previous;         // the answer that is wrong or slow, with its fences
  std::string prompt_template;  // a name of src/prompt/templates.h
};

struct Sample {
  static constexpr int kSchema = 1;
  std::string id;  // sample_id()
  Kind kind = Kind::kChat;
  // The last one is the assistant's answer; without it the sample waits for `data teach`.
  std::vector<text::ChatMessage> messages;
  std::optional<SampleProblem> problem;
  std::string language;          // task::Language's name of the answer's kernel; "": none
  Json origin = Json::object();  // generator, seed, index; or dataset, row, licences; or teacher
  Labels labels;
  std::string group;  // samples of one group stay on one side of every split
  std::optional<Pending> pending;
  Json verdict;  // null until `data filter` has judged the answer; an object

  bool answered() const { return !messages.empty() && messages.back().role == "assistant"; }
  // The assistant's last message; "" without one.
  const std::string& answer() const;
};

// SHA-256 over kind, messages, language, the problem's hash and the pending answer. Equal questions
// with equal answers have one id, wherever they came from.
std::string sample_id(const Sample& sample);

// The sample as a line without its end. `id` is computed.
std::string to_line(const Sample& sample);
// kInvalidArgument names the key: unknown, missing, of another type, an empty or unknown role, an
// edge out of range. kDataLoss for an id that is not the content's; a row may do without.
Result<Sample> sample_from_json(const Json& value);

// kUnsupported for a problem whose inputs lie in files.
Result<SampleProblem> sample_problem(const task::Problem& problem);
// The problems of `resized`, each under the problem's name.
Result<std::vector<task::Problem>> resized_problems(const SampleProblem& problem,
                                                    const std::string& origin);

}  // namespace kw::data
