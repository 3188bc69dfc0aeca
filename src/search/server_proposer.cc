#include "search/server_proposer.h"

#include <fmt/core.h>

namespace kw::search {

std::string ServerProposer::name() const {
  return fmt::format("{} at {}", model_, client_.endpoint());
}

Result<Proposed> ServerProposer::propose(const ProposalRequest& request, std::stop_token stop) {
  openai::ChatRequest chat;
  chat.tag = fmt::format("{} {}", request.key, request.attempt);
  chat.model = model_;
  for (const link::Message& message : request.messages)
    chat.messages.push_back({message.role, message.content});
  chat.temperature = sampling_.temperature;
  chat.top_p = sampling_.top_p;
  chat.max_tokens = static_cast<int>(sampling_.max_tokens);
  chat.seed = request.seed;
  KW_TRY(openai::ChatAnswer answer, client_.complete(chat, stop));
  const openai::Choice& choice = answer.choices.front();
  Proposal out;
  out.answer = choice.text;
  out.by = answer.model.empty() ? model_ : answer.model;
  if (choice.suspicion != openai::Suspicion::kNone) out.label = to_string(choice.suspicion);
  if (choice.finish_reason == "length") out.finish = runlog::Finish::kLength;
  out.usage.prompt_tokens = answer.usage.prompt_tokens;
  out.usage.completion_tokens = answer.usage.completion_tokens;
  out.usage.cost_usd = answer.cost;
  return Proposed(std::move(out));
}

}  // namespace kw::search
