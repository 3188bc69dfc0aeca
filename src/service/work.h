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
// What stands in a work's JSON by itself, or may be a reference.
struct WorkReaders {
  task::ProblemReader problem = task::problem_from_json;
  task::CandidateReader baseline = task::portable_candidate_from_json;
};
// Strict: kInvalidArgument names the key.
Result<Work> work_from_json(const Json& value, const std::string& where,
                            const WorkReaders& readers = {});
// Tells what a worker must be able to do: the target, and the language where that target judges it
// at all.
Needs needs_of(const Work& work);
// Work of the same problem is cheaper together: the problem's hash, or empty.
std::string problem_of(const Work& work);

// A problem's hash stands for the problem, where the other side knows it, and so does that of a
// baseline candidate: {"hash": "..."}.
Json reference_to(const std::string& hash);
// The hash, when the value is a reference.
std::optional<std::string> hash_in_reference(const Json& value);
// The hash of a stored request's baseline, whose baseline is a reference; empty: it has none.
std::string baseline_in(const std::string& request);

// A problem, or a baseline, apart from the work that has it.
struct WorkPart {
  std::string hash = {};  // empty: the work has none
  Json whole = {};        // null: it came as a reference
};
// Takes the problem and the baseline candidate out of a work's JSON and leaves references there.
struct WorkParts {
  WorkPart problem, baseline;
};
WorkParts take_parts(const Work& work, Json& json);

// Work that somebody asks for, as a server keeps it: problem and baseline are references.
struct AskedWork {
  Work work;  // what came as a reference has its hash alone
  Json json;
  std::string key;  // equal keys ask for the same, of the same version of the gym
  WorkParts parts;
};
Result<AskedWork> asked_work_from_json(Json value, const std::string& where);

// An object with one key, which says what it is.
Json to_json(const WorkAnswer& answer);
// Takes the keys of an answer from a reader and leaves others to the caller. kInvalidArgument for
// none or several.
Result<WorkAnswer> read_answer(ObjectReader& reader);
// The same as the text of an object with one key, as it came, once it has been read: what a worker
// says. kUnsupported for a verdict that does not say that this version of the gym made it.
struct AnswerText {
  std::string text = {};
  AnswerSummary summary = {};
};
Result<AnswerText> answer_text(ObjectReader& reader);

}  // namespace kw::service
