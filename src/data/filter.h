// Every sample's answer through the gym, resumable: the judge's findings become part of the sample.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "data/files.h"
#include "data/filter_report.h"
#include "data/judge_sample.h"

namespace kw::data {

// What becomes of samples of a cell of which fewer could be judged than were asked for.
enum class SmallCells { kKept, kDropped, kRefused };

struct FilterSettings {
  gym::EvalOptions eval;
  prompt::PromptOptions asking;  // of the questions of pending samples
  int jobs = 1;                  // samples being judged at once
  int tries = 3;                 // of a judgement that failed through no fault of the sample
  double retry_seconds = 2;      // before the second try, doubled each time
  int per_cell = 0;  // of samples with origin.generator only so many of each cell (strata.h) are
                     // judged; 0: all. Pending ones are always
  SmallCells small_cells = SmallCells::kKept;
  std::uint64_t seed = 0;
  bool skip_failed = false;  // leave out what could not be judged, instead of an error
};

struct FilterFiles {
  std::filesystem::path in, log;
  OutputFile& out;
  OutputFile* rejected = nullptr;
};

// What happens meanwhile. From several threads, one at a time.
struct FilterEvents {
  // Again for each round in which others take the place of what says nothing.
  std::function<void(std::uint64_t to_judge, std::uint64_t earlier, std::uint64_t earlier_passed)>
      begin;
  std::function<void(bool passed)> judged;
  std::function<void(const std::string& id, const Error& error, bool again)> failed;
};

// Theory of operation: a first reading of the data set chooses what is judged; a second hands
// samples to `jobs` threads over a bounded queue; each finding is appended to the log and synced
// before it counts. With per_cell, findings that are the problem's fault say nothing of a cell:
// they are left out of the choice and others judged in their place, round after round, until every
// cell has its number or no more samples. The last choice depends on the samples alone, not on
// kills. When all have a finding, a last reading writes `out`: what passed with its verdict, and
// what is not judged as it is. After kill -9 at any moment the same call goes on, and judges again
// at most what was in flight. A log of other options or another version of the gym is
// kInvalidArgument. rejected gets a line {"id", "outcome", "reason"} for each that goes. After
// failures (unless skip_failed) or a stop nothing is written to `out`; kInvalidArgument names the
// small cells that are refused. Memory: about 300 bytes a judged sample.
Result<FilterReport> filter_dataset(const FilterFiles& files, const FilterSettings& settings,
                                    search::Evaluator& evaluator, const FilterEvents& events,
                                    const std::stop_token& stop);

}  // namespace kw::data
