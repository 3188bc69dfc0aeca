// Usage: what answers of a language model have cost.
#pragma once
#include <cstdint>

namespace kw::text {

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;  // of all choices, reasoning included
  double cost_usd = 0;                 // 0: not known, or nothing to pay
  bool estimated = false;              // some of it was told by no server
  std::int64_t cached_tokens = 0;      // prompt tokens that the server had cached; not logged

  std::int64_t tokens() const { return prompt_tokens + completion_tokens; }
  Usage& operator+=(const Usage& other) {
    prompt_tokens += other.prompt_tokens;
    completion_tokens += other.completion_tokens;
    cost_usd += other.cost_usd;
    estimated = estimated || other.estimated;
    cached_tokens += other.cached_tokens;
    return *this;
  }
  bool operator==(const Usage&) const = default;
};

}  // namespace kw::text
