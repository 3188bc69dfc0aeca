// Every sample's answer through the gym, resumable: the judge's findings become part of the sample.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "data/files.h"
#include "data/sample.h"
#include "gym/gym.h"
#include "prompt/problem_prompt.h"
#include "search/evaluator.h"

namespace kw::data {

// A finding about one sample. outcome: task::Outcome's name, or one of
//   no_code        the answer has no code that could be judged
//   bad_problem    the problem cannot be read
//   wrong_plan     the generator's: the plan is not the kernel's (generator_origin.h)
//   not_wrong      repair: the first answer is right
//   not_right      speed-up: the first answer is wrong
//   not_faster     speed-up: the intervals of the two do not lie apart
struct Finding {
  std::string outcome, reason, evidence;
  bool passed = false;
  std::optional<task::Speedup> speedup;
  std::vector<prompt::Message>
      question;  // of a sample that was pending: what takes the old one's place
};

// Reads the answer as solve does, and judges it; of a pending sample the previous answer first. An
// error is never the sample's fault. Speed-up samples are timed whatever the options say.
Result<Finding> judge_sample(const Sample& sample, const gym::EvalOptions& options,
                             const prompt::PromptOptions& asking, search::Evaluator& evaluator,
                             const std::stop_token& stop);

struct FilterSettings {
  gym::EvalOptions eval;
  prompt::PromptOptions asking;  // of the questions of pending samples
  int jobs = 1;                  // samples being judged at once
  int tries = 3;                 // of a judgement that failed through no fault of the sample
  double retry_seconds = 2;      // before the second try, doubled each time
  int per_cell = 0;  // of samples with origin.generator only so many of each cell (strata.h) are
                     // judged; 0: all. Pending ones are always
  std::uint64_t seed = 0;
  bool skip_failed = false;  // leave out what could not be judged, instead of an error
};

struct FilterReport {
  std::uint64_t rows = 0, kept = 0;
  std::uint64_t not_judged = 0;  // of kept: no problem or no answer, or not chosen
  std::uint64_t earlier = 0;     // judged by an earlier session
  std::uint64_t failed = 0;      // could not be judged
  std::uint64_t retries = 0;
  std::map<std::string, std::uint64_t> outcomes;  // of what was judged
  // With per_cell: what was chosen of the generator's, and how many of these failed; then the same
  // without the samples of failing cells, which are dropped, judged or not.
  std::uint64_t sampled = 0, sampled_failures = 0, sampled_left = 0;
  std::uint64_t dropped = 0;
  std::set<std::string> failing_cells;
  std::uint64_t cells = 0, small_cells = 0;  // small: fewer samples than per_cell
};
Json to_json(const FilterReport& report);

// What happens meanwhile. From several threads, one at a time.
struct FilterEvents {
  std::function<void(std::uint64_t to_judge, std::uint64_t earlier, std::uint64_t earlier_passed)>
      begin;
  std::function<void(bool passed)> judged;
  std::function<void(const std::string& id, const Error& error, bool again)> failed;
};

// Theory of operation: a first reading of the data set chooses what is judged; a second hands
// samples to `jobs` threads over a bounded queue; each finding is appended to the log and synced
// before it counts. When all have one, a last reading writes `out`: what passed with its verdict,
// and what is not judged as it is. After kill -9 at any moment the same call goes on, and judges
// again at most what was in flight. A log of other options or another version of the gym is
// kInvalidArgument. rejected gets a line {"id", "outcome", "reason"} for each that goes. After
// failures (unless skip_failed) or a stop nothing is written to `out`. Memory: about 300 bytes a
// judged sample.
Result<FilterReport> filter_dataset(const std::filesystem::path& in,
                                    const std::filesystem::path& log, OutputFile& out,
                                    OutputFile* rejected, const FilterSettings& settings,
                                    search::Evaluator& evaluator, const FilterEvents& events,
                                    const std::stop_token& stop);

}  // namespace kw::data
