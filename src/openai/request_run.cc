#include "openai/request_run.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "openai/hedge.h"
#include "openai/suspicion.h"

namespace kw::openai {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kShownPartial = 200;

// Undone at the end of a scope.
template <typename Undo>
class Held {
 public:
  explicit Held(Undo undo) : undo_(std::move(undo)) {}
  ~Held() { undo_(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Undo undo_;
};

std::string_view words_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRateLimited:
      return "rate limited";
    case Outcome::kServerError:
      return "the server failed";
    case Outcome::kConnection:
      return "no connection";
    case Outcome::kCut:
      return "the answer was cut";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kMalformed:
      return "no chat completion came";
    case Outcome::kTooLarge:
      return "too large";
    case Outcome::kRedirected:
      return "redirected";
    case Outcome::kUntrusted:
      return "not trusted";
    case Outcome::kCancelled:
      return "cancelled";
    default:
      return "refused";
  }
}

// The end of a text, from a character's beginning.
std::string_view last_part(std::string_view text) {
  if (text.size() <= kShownPartial) return text;
  text.remove_prefix(text.size() - kShownPartial);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U)
    text.remove_prefix(1);
  return text;
}

}  // namespace

RequestRun::RequestRun(ClientParts& parts, const ChatRequest& request, std::stop_token stop)
    : parts_(parts),
      request_(request),
      stop_(std::move(stop)),
      deadline_(parts.clock.now() + request.deadline.value_or(parts.settings.timeouts.deadline)),
      prompt_tokens_(estimate_prompt_tokens(request.messages)) {}

Result<ChatAnswer> RequestRun::run() {
  parts_.ledger.begin_request();
  auto answer = run_tries();
  parts_.ledger.end_request(answer ? &*answer : nullptr, request_.n);
  if (!answer)
    return tl::unexpected(
        std::move(answer).error().with_context(parts_.wire->endpoint().authority));
  return answer;
}

Result<ChatAnswer> RequestRun::run_tries() {
  KW_TRY(body_, request_body(request_, parts_.settings.max_completion_tokens));
  const std::int64_t most = std::int64_t{request_.max_tokens} * request_.n;
  worst_ = {cost_of({prompt_tokens_, most, 0, false}), prompt_tokens_ + most};
  if (Status reserved = parts_.budget.reserve(worst_, left(), stop_); !reserved) {
    if (reserved.error().code() == ErrorCode::kResourceExhausted) parts_.ledger.refuse_by_budget();
    return tl::unexpected(std::move(reserved).error());
  }
  Held release([this] { parts_.budget.release(worst_); });
  for (;;) {
    if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    KW_TRY(Reply reply, attempt());
    if (reply.outcome == Outcome::kAnswered) return answer(std::move(reply));
    KW_TRY_STATUS(wait_for_retry(reply));
  }
}

Status RequestRun::wait_for_turn() {
  const Clock::Time begin = parts_.clock.now();
  if (!parts_.slots.acquire(left(), stop_)) {
    if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    return fail(ErrorCode::kDeadlineExceeded, "{} other requests were under way until the deadline",
                parts_.settings.concurrency);
  }
  Status turn = parts_.limiter.acquire(worst_tokens(), deadline_, stop_);
  if (!turn) parts_.slots.release();
  waited_ += parts_.clock.now() - begin;
  return turn;
}

Result<Reply> RequestRun::attempt() {
  KW_TRY_STATUS(wait_for_turn());
  ++tries_;
  if (const auto& after = parts_.settings.hedge_after) return attempt_hedged(*after);
  Held release([this] { parts_.slots.release(); });
  return send(false, stop_);
}

Reply RequestRun::attempt_hedged(milliseconds after) {
  auto first = [this](const std::stop_token& stop) {
    Held release([this] { parts_.slots.release(); });
    return send(false, stop);
  };
  auto second = [this](const std::stop_token& stop) { return send_hedge(stop); };
  HedgedReply pair = run_hedged(first, second, after, stop_);
  if (pair.hedged) parts_.ledger.hedge(pair.second_won);
  return std::move(pair.reply);
}

std::optional<Reply> RequestRun::send_hedge(const std::stop_token& stop) {
  if (!parts_.budget.reserve(worst_, nanoseconds(0), stop)) return std::nullopt;
  Held release_budget([this] { parts_.budget.release(worst_); });
  if (!parts_.slots.try_acquire()) return std::nullopt;
  Held release_slot([this] { parts_.slots.release(); });
  if (!parts_.limiter.try_acquire(worst_tokens())) return std::nullopt;
  return send(true, stop);
}

Reply RequestRun::send(bool hedge, const std::stop_token& stop) {
  const auto begin = std::chrono::steady_clock::now();
  Reply reply = parts_.wire->chat(body_, duration_cast<milliseconds>(left()), stop);
  book(reply, hedge, duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin));
  return reply;
}

text::Usage RequestRun::usage_of(const Reply& reply) const {
  // What no server computed costs nothing, for sure.
  text::Usage out = reply.usage.value_or(text::Usage{});
  if (!reply.usage && reply.computed) {
    std::size_t bytes = reply.received_bytes;
    for (const Choice& choice : reply.parts.choices)
      bytes += choice.text.size() + choice.reasoning.size();
    out.prompt_tokens = prompt_tokens_;
    out.completion_tokens = std::min(estimate_tokens(bytes), worst_.tokens - prompt_tokens_);
    out.estimated = true;
  }
  out.cost_usd = cost_of(out);
  return out;
}

double RequestRun::cost_of(const text::Usage& usage) const {
  const Prices& prices = parts_.settings.prices;
  const auto cached = static_cast<double>(usage.cached_tokens);
  const double fresh = static_cast<double>(usage.prompt_tokens) - cached;
  return (fresh * prices.prompt + cached * prices.cached_prompt.value_or(prices.prompt) +
          static_cast<double>(usage.completion_tokens) * prices.completion) /
         1e6;
}

void RequestRun::book(const Reply& reply, bool hedge, milliseconds took) {
  Attempt attempt;
  attempt.tag = request_.tag;
  attempt.number = tries_;
  attempt.hedge = hedge;
  attempt.outcome = reply.outcome;
  attempt.http_status = reply.http_status;
  attempt.message = reply.message;
  attempt.partial = reply.partial;
  attempt.answer_id = reply.id;
  attempt.retry_after = reply.retry_after;
  attempt.took = took;
  attempt.usage = usage_of(reply);
  const std::int64_t used = attempt.usage.tokens();
  parts_.budget.spend({attempt.usage.cost_usd, used});
  parts_.limiter.settle(worst_tokens(), used);
  parts_.ledger.add(attempt);
  {
    std::lock_guard lock(books_mutex_);
    cost_ += attempt.usage.cost_usd;
    cost_known_ = cost_known_ && !attempt.usage.estimated;
  }
  if (parts_.settings.on_attempt) parts_.settings.on_attempt(attempt);
}

milliseconds RequestRun::delay_after(const Reply& reply) {
  if (!reply.retry_after) return parts_.backoff.delay(tries_);
  // Others of this client wait too; those with a later deadline find out whether it was meant.
  const milliseconds asked = *reply.retry_after;
  if (may_retry(reply.outcome))
    parts_.limiter.pause_until(parts_.clock.now() +
                               std::min(asked, parts_.settings.timeouts.deadline));
  return asked + parts_.backoff.delay(1);
}

Status RequestRun::wait_for_retry(const Reply& reply) {
  malformed_ += reply.outcome == Outcome::kMalformed ? 1 : 0;
  const ChatSettings& settings = parts_.settings;
  const milliseconds delay = delay_after(reply);
  if (!may_retry(reply.outcome) || !settings.retries.has_try_after(tries_) ||
      malformed_ >= settings.malformed_tries)
    return failure(error_code(reply.outcome, reply.http_status), reply, "");
  if (Status budget = parts_.budget.check(); !budget)
    return failure(budget.error().code(), reply, budget.error().message());
  const Clock::Time begin = parts_.clock.now();
  if (begin + delay > deadline_)
    return failure(ErrorCode::kDeadlineExceeded, reply,
                   fmt::format("another try in {} would be after the deadline",
                               format_ms(static_cast<double>(delay.count()))));
  if (!parts_.clock.wait_until(begin + delay, stop_))
    return failure(ErrorCode::kCancelled, reply, "cancelled");
  waited_ += parts_.clock.now() - begin;
  parts_.ledger.retry();
  return {};
}

tl::unexpected<Error> RequestRun::failure(ErrorCode code, const Reply& reply,
                                          const std::string& end) const {
  std::string text(words_of(reply.outcome));
  if (reply.http_status != 0 && reply.http_status != 200)
    text += fmt::format(" (HTTP {})", reply.http_status);
  if (tries_ > 1) text += fmt::format(", {} tries", tries_);
  if (!reply.message.empty()) text += ": " + reply.message;
  if (!reply.partial.empty())
    text += fmt::format("; {} bytes of text had come, the last: \"{}\"", reply.partial.size(),
                        printable(last_part(reply.partial), kShownPartial));
  if (!end.empty()) text += "; " + end;
  return fail(code, std::move(text));
}

ChatAnswer RequestRun::answer(Reply reply) const {
  ChatAnswer out;
  out.usage = usage_of(reply);
  out.choices = std::move(reply.parts.choices);
  const auto most = static_cast<std::size_t>(request_.n);
  if (out.choices.size() > most) out.choices.resize(most);
  for (Choice& choice : out.choices) choice.suspicion = suspect(choice.text, request_.messages);
  out.cost = cost_;
  out.cost_known = cost_known_;
  out.tries = tries_;
  out.id = std::move(reply.parts.id);
  out.request_id = std::move(reply.request_id);
  out.model = std::move(reply.parts.model);
  out.waited = duration_cast<milliseconds>(waited_);
  return out;
}

}  // namespace kw::openai
