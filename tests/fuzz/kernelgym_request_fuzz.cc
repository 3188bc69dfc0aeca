// The bodies of KernelGYM's evaluations: what is accepted is within its limits, its mistakes are
// told in a few words, and what becomes a judgement here is one that a worker can read.
#include "fuzz.h"
#include "gym/eval_request.h"
#include "service/kernelgym/evaluation_request.h"

namespace kw::fuzz {
namespace {

using service::kernelgym::EvaluationRequest;
using service::kernelgym::SourceCheck;

void check_limits(const EvaluationRequest& request) {
  KW_CHECK(!request.task_id.empty() && request.kernel_code.size() >= 10);
  KW_CHECK(request.timeout >= 10 && request.timeout <= 3600);
  KW_CHECK(request.num_correct_trials >= 1 && request.num_correct_trials <= 20);
  KW_CHECK(request.num_perf_trials >= 1 && request.num_perf_trials <= 1000);
  KW_CHECK(request.num_warmup >= 0 && request.num_warmup <= 100);
}

// It goes into the answer as JSON.
void check_text(const std::string& text) {
  KW_CHECK(text.size() <= kMaxMessage && is_valid_utf8(text));
}

void check_sources(const EvaluationRequest& request) {
  for (const SourceCheck& check : {check_reference(request), check_kernel(request)}) {
    KW_CHECK(check.is_valid == check.error.empty());
    check_text(check.error);
  }
  for (const std::string& error : workflow_errors(request)) check_text(error);
}

void check_judgement(const EvaluationRequest& request) {
  const auto judgement = to_eval_request(request);
  if (!accepted(judgement)) return;
  const auto written = gym::to_json(*judgement);
  if (!accepted(written)) return;
  const auto again = gym::eval_request_from_json(*written, "");
  KW_CHECK(again.has_value());
  KW_CHECK(again->problem.hash == judgement->problem.hash);
  KW_CHECK(again->candidate.hash == judgement->candidate.hash);
  KW_CHECK(gym::to_json(*again).value().dump() == written->dump());
}

}  // namespace

KW_FUZZ(kernelgym_request, text) {
  const auto body = parse_json(text);
  if (!accepted(body)) return;
  const auto request = service::kernelgym::evaluation_request_from_json(*body, "");
  if (!accepted(request)) return;
  check_limits(*request);
  check_sources(*request);
  check_judgement(*request);
}

}  // namespace kw::fuzz
