// One request over the wire and what became of it: the classes by which failures are counted,
// retried and told.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "openai/chat.h"

namespace kw::openai {

enum class Outcome {
  kAnswered,
  kRateLimited,  // 429
  kServerError,  // 5xx, or an error in the place of an answer
  kConnection,   // no host, refused, reset before an answer began
  kCut,          // ended before the answer's end
  kTimeout,      // one of the attempt's own
  kMalformed,    // no JSON, no answer in it, or a page of another type
  kTooLarge,     // over max_answer_bytes
  kRefused,      // another 4xx, or a quota that is used up: the same request fails again
  kRedirected,   // 3xx: not followed, the key stays with the host it is for
  kUntrusted,    // the TLS certificate
  kCancelled,    // by the caller, or the slower one of a hedged pair
};
inline constexpr std::size_t kOutcomes = 12;

std::string_view to_string(Outcome outcome);  // "answered", "rate_limited", ...
bool may_retry(Outcome outcome);
ErrorCode error_code(Outcome outcome, int http_status);  // not of kAnswered

// What on_attempt and the ledger get. Never has the key in it.
struct Attempt {
  std::string tag;  // ChatRequest::tag
  int number = 1;   // of the request's tries, from 1
  bool hedge = false;
  Outcome outcome = Outcome::kAnswered;
  int http_status = 0;    // 0: no header came
  std::string message;    // of a failure: printable, at most kMaxMessage bytes
  std::string partial;    // text of a cut stream's first choice, as far as it came
  std::string answer_id;  // of the body
  std::optional<std::chrono::seconds> retry_after;
  std::chrono::milliseconds took{0};
  text::Usage usage;  // what it is taken to have cost; all 0 when nothing was computed
};
inline constexpr std::size_t kMaxMessage = 2000;

}  // namespace kw::openai
