// What all requests of a client came to: every attempt is in exactly one class.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>

#include "base/json.h"
#include "openai/attempt.h"

namespace kw::openai {

// requests = answered + failed + those under way.
struct Counts {
  std::int64_t requests = 0, answered = 0, failed = 0;
  std::int64_t refused_by_budget = 0;              // of failed: nothing was sent
  std::array<std::int64_t, kOutcomes> attempts{};  // by Outcome; those that have ended
  std::int64_t retries = 0, hedges = 0, hedges_won = 0;
  // Of choices that were answered.
  std::int64_t choices = 0, missing_choices = 0;  // missing: asked for by n, and not given
  std::int64_t empty = 0, prompt_echoes = 0, template_tokens = 0;  // by Suspicion
  std::int64_t finished_by_length = 0, finished_by_filter = 0;
  // Of all attempts; estimated_*: that part of it which no server told.
  std::int64_t prompt_tokens = 0, completion_tokens = 0;
  std::int64_t estimated_prompt_tokens = 0, estimated_completion_tokens = 0;
  double cost = 0, estimated_cost = 0;

  std::int64_t of(Outcome outcome) const { return attempts[static_cast<std::size_t>(outcome)]; }
  std::int64_t all_attempts() const;
};
// Names as above; attempts by to_string(Outcome), those that are 0 left out.
Json to_json(const Counts& counts);

// Any thread.
class Ledger {
 public:
  void begin_request();
  void end_request(const ChatAnswer* answer, int asked);  // nullptr: failed
  void refuse_by_budget();                                // beside end_request
  void retry();
  void hedge(bool won);  // a second attempt was made
  void add(const Attempt& attempt);
  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace kw::openai
