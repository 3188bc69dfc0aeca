// What solve prints: the plan before, and per problem what came out.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "runlog/run_folder.h"
#include "search/settings.h"

namespace kw::front {

// How the best kernel of a problem compares with its baseline.
enum class Standing {
  kNone,       // no correct kernel
  kCorrect,    // correct, and not timed
  kSlower,     // the interval ends below 1
  kNotFaster,  // the interval contains 1
  kFaster,     // the interval begins above 1
};
std::string_view to_string(Standing standing);  // "none", "correct", ...
Standing standing_of(const runlog::ProblemTree& tree);

struct Counts {
  std::size_t attempts = 0, extracted = 0, compiled = 0, correct = 0;
  runlog::Usage usage;
};
Counts counts_of(const runlog::ProblemTree& tree);  // attempts: those with an answer

using ByKind = std::map<std::string, int>;
ByKind failures_by_kind(const runlog::ProblemTree& tree);  // runlog::kind_of
// Answers that a server did not end as answers end, by finish ("length", "refused", "context") or
// by what their text looks like ("empty", "prompt_echo", "template_tokens").
ByKind odd_answers(const runlog::ProblemTree& tree);

// The folder of a problem's files below the run's.
std::filesystem::path solution_folder(const std::filesystem::path& run, const std::string& key);

// A problem of a data set that could not be read: no part of the run.
struct Unread {
  std::string name, message;
};

// docs/schemas/solve.schema.json
Json solve_row(const std::filesystem::path& run, const runlog::ProblemTree& tree);
Json solve_row(const std::filesystem::path& run, const Unread& unread);

// A few lines: what came out, its evidence, the next step. baseline: "eager".
std::string solve_card(const std::filesystem::path& run, const runlog::Run& of,
                       const runlog::ProblemTree& tree, const std::string& baseline);
std::string solve_card(const Unread& unread);
std::string solve_summary(const std::filesystem::path& run, const runlog::Run& of,
                          const std::string& baseline, std::size_t unread);

struct PlanFacts {
  std::size_t problems = 0, prompt_bytes = 0;  // bytes of a prompt, where known
  std::size_t workloads = 0;                   // of all problems together
  std::string proposer;
  bool asks_model = false, timed = true;
  bool server_is_here = false;                // the model's: it cannot be stopped
  double max_seconds = 0;                     // of measuring one workload
  double max_cost = 0, max_total_tokens = 0;  // of all requests; 0: no limit
  std::int64_t max_tokens = 0;
  double prompt_price = 0, completion_price = 0;  // USD for a million tokens; 0: not known
};
std::string plan_text(const search::Settings& settings, const PlanFacts& facts,
                      const std::filesystem::path& run);

}  // namespace kw::front
