// Runs of the simulated service. KW_SIMULATION_SEED is the first seed (CI takes the commit's
// number), KW_SIMULATION_RUNS how many there are. A run that breaks a promise is repeated by
// KW_SIMULATION_SEED=SEED KW_SIMULATION_RUNS=1, and its events are printed.
#include "simulation.h"

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "memory_disk.h"
#include "os/file.h"

namespace kw::service::simulation {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRuns = 50;
#else
constexpr std::uint64_t kRuns = 500;
#endif

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* given = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return given == nullptr ? otherwise : std::stoull(given);
}

// A run that aborts says so too.
volatile std::uint64_t current_seed = 0;
void say_seed(int signal) {
  std::array<char, 64> text{"seed "};
  char* end = std::to_chars(text.data() + 5, text.data() + text.size() - 30, current_seed).ptr;
  for (const char* rest = ": the program aborts\n"; *rest != 0; ++rest) *end++ = *rest;
  (void)!::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(end - text.data()));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

Outcome outcome_of(std::uint64_t seed, const std::filesystem::path& folder) {
  try {
    return simulate(seed, folder, false);
  } catch (const std::exception& error) {
    return {.violation = std::string("the program throws ") + error.what()};
  }
}

TEST(Simulation, PromisesHoldThroughTrouble) {
  const auto folder = os::TempDir::make("kw-simulation-").value();
  const std::uint64_t first = number_of("KW_SIMULATION_SEED", 1);
  const std::uint64_t runs = number_of("KW_SIMULATION_RUNS", kRuns);
  std::signal(SIGABRT, say_seed);
  std::signal(SIGSEGV, say_seed);
  std::map<std::string, int> ends;
  int starts = 0;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    current_seed = seed;
    const Outcome outcome = outcome_of(seed, folder.path());
    for (const auto& [state, count] : outcome.ends) ends[state] += count;
    starts += outcome.starts;
    if (!outcome.violation) continue;
    std::cout << "seed " << seed << ": " << *outcome.violation << "\n"
              << "again: KW_SIMULATION_SEED=" << seed
              << " KW_SIMULATION_RUNS=1 service_simulation_test\n";
    for (const std::string& line : simulate(seed, folder.path(), true).trace)
      std::cout << line << "\n";
    FAIL() << *outcome.violation;
  }
  std::cout << runs << " runs from seed " << first << ", " << starts << " starts of the server;";
  for (const auto& [state, count] : ends) std::cout << " " << state << " " << count;
  std::cout << "\n";
  if (runs < 50) return;
  for (const char* state : {"done", "failed", "dead", "cancelled", "expired"})
    EXPECT_GT(ends[state], 0) << state;
}

TEST(Simulation, TheSameSeedIsTheSameRun) {
  const auto folder = os::TempDir::make("kw-simulation-").value();
  EXPECT_EQ(simulate(7, folder.path(), true).trace, simulate(7, folder.path(), true).trace);
}

}  // namespace
}  // namespace kw::service::simulation
