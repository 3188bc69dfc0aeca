// A request as it came, of a file's line or a link, as the scheduler takes it.
#pragma once
#include "link/generate_request.h"
#include "rollout/completion.h"

namespace kw::lm_program {

rollout::CompletionRequest completion_request(const link::GenerateRequest& request);

}  // namespace kw::lm_program
