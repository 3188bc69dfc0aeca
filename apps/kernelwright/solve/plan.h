// The cost of a search, printed before it starts: estimates, and their bounds.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "search/settings.h"

namespace kw::front {

struct PlanFacts {
  std::vector<std::size_t> workloads;  // of each problem, that are timed
  std::size_t prompt_bytes = 0;        // of a prompt, about
  std::string proposer;
  double by_model = 0;  // the share of attempts that a model writes
  bool timed = true;
  bool server_is_here = false;                // the model's: it cannot be stopped
  double max_seconds = 0;                     // of measuring one workload
  double max_cost = 0, max_total_tokens = 0;  // of all requests; 0: no limit
  std::int64_t max_tokens = 0;
  double tokens_per_second = 0;                   // all answers in flight together; 0: not known
  double prompt_price = 0, completion_price = 0;  // USD for a million tokens; 0: not known
};

std::string plan_text(const search::Settings& settings, const PlanFacts& facts,
                      const std::filesystem::path& run);

}  // namespace kw::front
