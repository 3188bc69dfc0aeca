// One run of the simulated service: clients, workers, a server and what can go wrong, by a seed.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kw::service::simulation {

struct Outcome {
  std::optional<std::string> violation = {};  // of a promise
  std::vector<std::string> trace = {};        // when it was asked for
  std::map<std::string, int> ends = {};       // tasks by state
  int starts = 0;                             // of the server
  double hours = 0;                           // simulated
};

// folder: an empty one, which nothing is written to.
Outcome simulate(std::uint64_t seed, const std::filesystem::path& folder, bool keeps_trace);

}  // namespace kw::service::simulation
