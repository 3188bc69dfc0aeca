#include "search/server_proposer.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace kw::search {
namespace {

using std::chrono::milliseconds;

// The slower one of a hedged pair, or the caller's stop: it has cost something, and is no failure.
bool is_failure(const openai::Attempt& attempt) {
  return attempt.outcome != openai::Outcome::kAnswered &&
         attempt.outcome != openai::Outcome::kCancelled;
}

FailedTry failed_try(const openai::Attempt& attempt) {
  std::string message(to_string(attempt.outcome));
  if (attempt.http_status != 0) message += fmt::format(" (HTTP {})", attempt.http_status);
  if (!attempt.message.empty()) message += ": " + attempt.message;
  return {Error(error_code(attempt.outcome, attempt.http_status), std::move(message)),
          std::string(to_string(attempt.outcome)), attempt.usage};
}

NoAnswer too_late(const Error& error) {
  return {{{error, std::string(to_string(openai::Outcome::kTimeout)), {}}}, false};
}

text::Finish finish_of(const std::string& reason) {
  if (reason == "length") return text::Finish::kLength;
  return reason == "content_filter" ? text::Finish::kRefused : text::Finish::kStop;
}

}  // namespace

Result<std::unique_ptr<ServerProposer>> ServerProposer::make(openai::ChatSettings settings,
                                                             std::string model,
                                                             const Sampling& sampling) {
  std::unique_ptr<ServerProposer> out(new ServerProposer(std::move(model), sampling));
  settings.retries.tries = 1;
  settings.on_attempt = [self = out.get()](const openai::Attempt& attempt) {
    std::lock_guard lock(self->mutex_);
    self->attempts_[attempt.tag].push_back(attempt);
  };
  out->settings_ = settings;
  KW_TRY(auto client, openai::ChatClient::make(std::move(settings)));
  out->client_ = std::make_unique<openai::ChatClient>(std::move(client));
  return out;
}

std::string ServerProposer::name() const {
  return fmt::format("{} at {}", model_, client_->endpoint());
}

openai::Clock& ServerProposer::clock() const {
  return settings_.clock == nullptr ? openai::system_clock() : *settings_.clock;
}

openai::ChatRequest ServerProposer::chat_request(const ProposalRequest& request,
                                                 const std::string& tag) const {
  openai::ChatRequest out;
  out.tag = tag;
  out.model = model_;
  out.messages = request.messages;
  out.temperature = sampling_.temperature;
  out.top_p = sampling_.top_p;
  out.max_tokens = static_cast<int>(sampling_.max_tokens);
  out.seed = request.seed;
  return out;
}

milliseconds ServerProposer::time_left(const std::string& tag) {
  const openai::Clock::Time now = clock().now();
  std::lock_guard lock(mutex_);
  const openai::Clock::Time begun = begun_.emplace(tag, now).first->second;
  return std::chrono::duration_cast<milliseconds>(begun + settings_.timeouts.deadline - now);
}

std::vector<openai::Attempt> ServerProposer::take_attempts(const std::string& tag) {
  std::lock_guard lock(mutex_);
  auto node = attempts_.extract(tag);
  return node.empty() ? std::vector<openai::Attempt>() : std::move(node.mapped());
}

runlog::End ServerProposer::end_by_budget() const {
  const openai::Budget& budget = settings_.budget;
  if (budget.cost <= 0) return runlog::End::kTokens;
  if (budget.tokens <= 0) return runlog::End::kCost;
  const openai::Counts counts = client_->counts();
  const double cost = (budget.spent_cost + counts.cost) / budget.cost;
  const auto tokens =
      static_cast<double>(budget.spent_tokens + counts.prompt_tokens + counts.completion_tokens) /
      static_cast<double>(budget.tokens);
  return tokens > cost ? runlog::End::kTokens : runlog::End::kCost;
}

Result<Proposed> ServerProposer::no_answer(const Error& error,
                                           const std::vector<openai::Attempt>& attempts) const {
  if (attempts.empty()) {  // no request was sent
    if (error.code() == ErrorCode::kResourceExhausted)
      return Proposed(Exhausted{error.message(), end_by_budget()});
    if (error.code() == ErrorCode::kDeadlineExceeded) return Proposed(too_late(error));
    return tl::unexpected(error);
  }
  // The error is that of the first of a hedged pair, which is told last.
  NoAnswer out;
  const openai::Attempt* told = nullptr;
  for (const openai::Attempt& attempt : attempts) {
    if (attempt.hedge || told != nullptr) {
      out.failed.push_back(failed_try(attempt));
    } else {
      told = &attempt;
    }
  }
  if (told == nullptr) return tl::unexpected(error);
  out.failed.push_back({error, std::string(to_string(told->outcome)), told->usage});
  out.again = may_retry(told->outcome);
  return Proposed(std::move(out));
}

Result<Proposed> ServerProposer::propose(const ProposalRequest& request, std::stop_token stop) {
  const std::string tag = fmt::format("{} {}", request.key, request.attempt);
  openai::ChatRequest chat = chat_request(request, tag);
  const milliseconds left = time_left(tag);
  chat.deadline = left;
  if (left <= milliseconds(0))
    return Proposed(too_late(Error(
        ErrorCode::kDeadlineExceeded,
        fmt::format("{}: no answer within the deadline of {:.4g} s, tries and pauses included",
                    client_->endpoint(),
                    std::chrono::duration<double>(settings_.timeouts.deadline).count()))));
  auto answer = client_->complete(chat, stop);
  const std::vector<openai::Attempt> attempts = take_attempts(tag);
  if (!answer) return no_answer(answer.error(), attempts);
  {
    std::lock_guard lock(mutex_);
    begun_.erase(tag);
  }
  const openai::Choice& choice = answer->choices.front();
  Proposal out;
  out.answer = choice.text;
  out.reasoning = choice.reasoning;
  out.by = answer->model.empty() ? model_ : answer->model;
  if (choice.suspicion != openai::Suspicion::kNone) out.suspicion = to_string(choice.suspicion);
  out.finish = finish_of(choice.finish_reason);
  for (const openai::Attempt& attempt : attempts) {
    if (is_failure(attempt)) {
      out.failed.push_back(failed_try(attempt));
    } else {
      out.usage += attempt.usage;
    }
  }
  return Proposed(std::move(out));
}

}  // namespace kw::search
