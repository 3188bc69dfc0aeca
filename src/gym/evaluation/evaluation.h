// One evaluation, the same on every bench: admission, then for every workload, the untimed ones
// first, a build, the baseline, the pairs of a measurement, and what the bench asks besides. The
// evidence of all of it is the verdict.
#pragma once
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gym/eval_request.h"
#include "gym/evaluation/admission_cache.h"
#include "gym/evaluation/bench.h"
#include "gym/evaluation/session_pool.h"
#include "task/verdict.h"

namespace kw::gym {

// Evaluations share these parts, which are borrowed. Any thread may evaluate with the same ones.
struct EvaluationParts {
  Bench& bench;
  const AdmissionCache& admissions;
  SessionPool& sessions;
  std::filesystem::path evidence_folder;
  std::function<void(const EvalRequest&, std::string_view stage)> enter;  // may be empty
};

// A failing candidate is a Verdict; an Error means that we or the machine failed, and kCancelled
// comes after a stop.
Result<task::Verdict> evaluate(const EvaluationParts& parts, const EvalRequest& request,
                               const std::stop_token& stop);

// The verdict on a request that no bench here can judge: unsupported, for this reason.
Result<task::Verdict> unsupported(const EvalRequest& request, const std::string& reason,
                                  const std::filesystem::path& evidence_folder);

// The pool's key of the session for the first of the request's workloads that run here; empty
// where none does.
std::string first_session_key(const Bench& bench, const EvalRequest& request);

// The interface of a module's kernel, whose reference runs for it. kInvalidArgument when it fails.
Result<task::Signature> describe_module(const EvaluationParts& parts, const task::Problem& problem);

}  // namespace kw::gym
