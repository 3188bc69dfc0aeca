#include "completion_request.h"

namespace kw::lm_program {

rollout::CompletionRequest completion_request(const link::GenerateRequest& request) {
  rollout::CompletionRequest out;
  if (const auto* text = std::get_if<std::string>(&request.prompt)) {
    out.prompt = *text;
  } else if (const auto* tokens = std::get_if<std::vector<std::int32_t>>(&request.prompt)) {
    out.prompt = *tokens;
  } else {
    std::vector<lm::ChatMessage> messages;
    for (const link::Message& message : std::get<std::vector<link::Message>>(request.prompt))
      messages.push_back({message.role, message.content});
    out.prompt = std::move(messages);
  }
  out.continue_final = request.continue_final;
  out.enable_thinking = request.enable_thinking;
  out.choices = request.n;
  out.max_tokens = request.max_tokens;
  out.stop = request.stop;
  out.stop_tokens = request.stop_token_ids;
  out.ignore_end = request.ignore_end;
  out.sampling.temperature = request.temperature;
  out.sampling.top_k = request.top_k;
  out.sampling.top_p = request.top_p;
  out.sampling.min_p = request.min_p;
  out.seed = request.seed;
  out.first_sequence = request.first_sequence;
  out.top_logprobs = request.top_logprobs;
  return out;
}

}  // namespace kw::lm_program
