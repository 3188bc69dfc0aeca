// EvalRequest: a judgement that is asked for, as a value that can be stored and sent: it names no
// file. docs/formats/request.md.
#pragma once
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "gym/eval_options.h"
#include "task/candidate.h"
#include "task/portable_problem.h"
#include "task/problem.h"

namespace kw::gym {

// Shared by command line, queue and HTTP.
struct EvalRequest {
  static constexpr int kSchema = 1;
  task::Problem problem;
  task::Candidate candidate;
  EvalOptions options;
  // Carried through to events, and no part of the hash.
  std::string tenant, trajectory;
  int turn = 0;
  int priority = 0;  // the higher, the earlier it begins

  // SHA-256 of the canonical JSON of the problem's hash, the candidate's hash, all options and the
  // gym's version. A baseline candidate counts by its hash.
  std::string hash() const;
};

// kUnsupported for a problem whose inputs lie in files.
Result<Json> to_json(const EvalRequest& request);
// Strict: unknown keys, values out of their ranges and hashes that are not those of the content are
// refused, with the key.
Result<EvalRequest> eval_request_from_json(
    const Json& value, const std::string& where,
    const task::ProblemReader& read_problem = task::problem_from_json,
    const task::CandidateReader& read_baseline = task::portable_candidate_from_json);

}  // namespace kw::gym
