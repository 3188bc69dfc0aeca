#include "openai/ledger.h"

#include <numeric>

namespace kw::openai {

std::int64_t Counts::all_attempts() const {
  return std::accumulate(attempts.begin(), attempts.end(), std::int64_t{0});
}

Json to_json(const Counts& c) {
  Json attempts = Json::object();
  for (std::size_t i = 0; i < kOutcomes; ++i)
    if (c.attempts[i] != 0)
      attempts[std::string(to_string(static_cast<Outcome>(i)))] = c.attempts[i];
  return {{"requests", c.requests},
          {"answered", c.answered},
          {"failed", c.failed},
          {"refused_by_budget", c.refused_by_budget},
          {"attempts", std::move(attempts)},
          {"retries", c.retries},
          {"hedges", c.hedges},
          {"hedges_won", c.hedges_won},
          {"choices", c.choices},
          {"missing_choices", c.missing_choices},
          {"empty", c.empty},
          {"prompt_echoes", c.prompt_echoes},
          {"template_tokens", c.template_tokens},
          {"finished_by_length", c.finished_by_length},
          {"finished_by_filter", c.finished_by_filter},
          {"prompt_tokens", c.prompt_tokens},
          {"completion_tokens", c.completion_tokens},
          {"estimated_prompt_tokens", c.estimated_prompt_tokens},
          {"estimated_completion_tokens", c.estimated_completion_tokens},
          {"cost", c.cost},
          {"estimated_cost", c.estimated_cost}};
}

void Ledger::begin_request() {
  std::lock_guard lock(mutex_);
  ++counts_.requests;
}

void Ledger::end_request(const ChatAnswer* answer, int asked) {
  std::lock_guard lock(mutex_);
  if (answer == nullptr) {
    ++counts_.failed;
    return;
  }
  ++counts_.answered;
  const auto given = static_cast<std::int64_t>(answer->choices.size());
  counts_.choices += given;
  counts_.missing_choices += asked - given;
  for (const Choice& choice : answer->choices) {
    counts_.empty += choice.suspicion == Suspicion::kEmpty ? 1 : 0;
    counts_.prompt_echoes += choice.suspicion == Suspicion::kPromptEcho ? 1 : 0;
    counts_.template_tokens += choice.suspicion == Suspicion::kTemplateTokens ? 1 : 0;
    counts_.finished_by_length += choice.finish_reason == "length" ? 1 : 0;
    counts_.finished_by_filter += choice.finish_reason == "content_filter" ? 1 : 0;
  }
}

void Ledger::refuse_by_budget() {
  std::lock_guard lock(mutex_);
  ++counts_.refused_by_budget;
}

void Ledger::retry() {
  std::lock_guard lock(mutex_);
  ++counts_.retries;
}

void Ledger::hedge(bool won) {
  std::lock_guard lock(mutex_);
  ++counts_.hedges;
  counts_.hedges_won += won ? 1 : 0;
}

void Ledger::add(const Attempt& attempt) {
  std::lock_guard lock(mutex_);
  ++counts_.attempts[static_cast<std::size_t>(attempt.outcome)];
  const text::Usage& usage = attempt.usage;
  counts_.prompt_tokens += usage.prompt_tokens;
  counts_.completion_tokens += usage.completion_tokens;
  counts_.cost += usage.cost_usd;
  if (!usage.estimated) return;
  counts_.estimated_prompt_tokens += usage.prompt_tokens;
  counts_.estimated_completion_tokens += usage.completion_tokens;
  counts_.estimated_cost += usage.cost_usd;
}

Counts Ledger::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace kw::openai
