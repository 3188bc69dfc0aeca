// KernelGYM's answers, made of what became of a task. docs/kernelgym.md says what they mean here.
#pragma once
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "service/task_table.h"

namespace kw::service::kernelgym {

// "pending", "processing", "completed" or "failed".
std::string status_word(const service::TaskStatus& status);

// An EvaluationResponse of a task that is final. Times of day are null.
Json evaluation_response(const std::string& task_id, const service::TaskStatus& status);
// The same of a request that never became a task. is_kernels_fault: the kernel counts as one that
// does not compile; otherwise nothing is said of it.
Json refused_response(const std::string& task_id, const Error& why, bool is_kernels_fault);
// A WorkflowResponse with the same content.
Json workflow_response(const Json& evaluation);

}  // namespace kw::service::kernelgym
