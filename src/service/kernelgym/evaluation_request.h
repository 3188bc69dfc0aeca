// EvaluationRequest: what KernelGYM's clients ask for, and what it is in our words.
// docs/kernelgym.md has the fields. Free functions, no state.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/eval_request.h"

namespace kw::service::kernelgym {

// How a kernel is written: in Triton, or in Python with extensions in CUDA C++.
enum class Backend { kTriton, kCuda };
std::string_view to_string(Backend backend);

struct EvaluationRequest {
  std::string task_id = {};
  std::string reference_code = {}, kernel_code = {};  // Python
  std::string entry_point = "Model";                  // the kernel's class is this with "New"
  std::string toolkit = "kernelbench", backend_adapter = "kernelbench", workflow = "kernelbench";
  Backend backend = Backend::kTriton;
  std::string priority = "normal";  // or "low", "high"
  std::string device_preference = {};
  std::string reference_backend = {};  // empty: eager
  std::int64_t num_correct_trials = 5, num_perf_trials = 100, num_warmup = 3;
  std::int64_t timeout = 300;  // seconds
  bool force_refresh = false;
  bool measures = true;  // run_performance, or else measure_performance
};

// Keys that KernelGYM does not know are passed by, as there. kInvalidArgument names the key.
Result<EvaluationRequest> evaluation_request_from_json(const Json& value, const std::string& where);

// A workflow looks whether a source has its class; this is what it finds.
struct SourceCheck {
  bool is_valid = true;
  std::string error = {}, entry_point = {};
};
SourceCheck check_reference(const EvaluationRequest& request);
SourceCheck check_kernel(const EvaluationRequest& request);
// It says in KernelGYM's words what is wrong with the sources; empty: nothing.
std::vector<std::string> workflow_errors(const EvaluationRequest& request);

// kInvalidArgument for sources that are no problem and candidate, kUnsupported for what no worker
// of ours can do.
Result<gym::EvalRequest> to_eval_request(const EvaluationRequest& request);

}  // namespace kw::service::kernelgym
