// Two attempts at one request, the second only when the first is slow; the first answer is taken.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "openai/wire.h"

namespace kw::openai {

struct HedgedReply {
  Reply reply;
  bool hedged = false;      // a second attempt was made
  bool second_won = false;  // its answer was taken
};

// Runs each attempt on a thread of its own and returns when both have ended; the one that is not
// taken is asked to stop. When neither answers, the first one's reply is the result.
// second: nothing when there is no room for it.
HedgedReply run_hedged(const std::function<Reply(std::stop_token)>& first,
                       const std::function<std::optional<Reply>(std::stop_token)>& second,
                       std::chrono::milliseconds after, const std::stop_token& stop);

}  // namespace kw::openai
