// Work: a call of gym::Judge as a value that can be stored and sent, and its answer.
// docs/service.md has the JSON. Plain values, no threads.
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "base/json.h"
#include "base/result.h"
#include "gym/eval_request.h"
#include "gym/gym.h"
#include "gym/problem_check.h"
#include "service/abilities.h"
#include "service/answer_summary.h"
#include "task/portable_problem.h"
#include "task/signature.h"
#include "task/target.h"
#include "task/verdict.h"

namespace kw::service {

struct DescribeRequest {
  task::Problem problem;
  task::Target target = task::Target::kCpu;
};
struct CapabilitiesRequest {
  task::Target target = task::Target::kCpu;
};
using Work = std::variant<gym::EvalRequest, gym::CheckRequest, gym::TraceRequest, DescribeRequest,
                          CapabilitiesRequest>;

// A text of docs/formats/graph.md, which nobody has read yet.
struct TracedText {
  std::string graph;
};
// In the order of Work.
using WorkAnswer =
    std::variant<task::Verdict, gym::ProblemCheck, TracedText, task::Signature, gym::Capabilities>;

// A judgement is as in docs/formats/request.md; the others have a "kind". kUnsupported for a
// problem that needs a file.
Result<Json> to_json(const Work& work);
// Strict: kInvalidArgument names the key.
Result<Work> work_from_json(const Json& value, const std::string& where,
                            const task::ProblemReader& read_problem = task::problem_from_json);
// Tells what a worker must be able to do: the target, and the language where that target judges it
// at all.
Needs needs_of(const Work& work);
// Work of the same problem is cheaper together: the problem's hash, or empty.
std::string problem_of(const Work& work);

// A problem's hash stands for the problem, where the other side knows it: {"hash": "..."}.
Json problem_reference(const std::string& hash);
// The hash, when the value is a reference.
std::optional<std::string> hash_in_reference(const Json& value);
// Replaces the problem of a work's JSON by its reference; nothing happens to work without one.
void refer_to_problem(Json& work, const std::string& hash);

// Work that somebody asks for, as a server keeps it: its problem is a reference.
struct AskedWork {
  Work work;  // a problem that came as a reference has its hash alone
  Json json;
  std::string key;      // equal keys ask for the same, of the same version of the gym
  std::string problem;  // hash, or empty
  Json whole_problem;   // null when it came as a reference
};
Result<AskedWork> asked_work_from_json(Json value, const std::string& where);

// An object with one key, which says what it is.
Json to_json(const WorkAnswer& answer);
// Takes the keys of an answer from a reader and leaves others to the caller. kInvalidArgument for
// none or several.
Result<WorkAnswer> read_answer(ObjectReader& reader);
// The same as the text of an object with one key, as it came, once it has been read.
struct AnswerText {
  std::string text = {};
  AnswerSummary summary = {};
};
Result<AnswerText> answer_text(ObjectReader& reader);

}  // namespace kw::service
