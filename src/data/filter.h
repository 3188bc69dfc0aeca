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

// How samples of a cell are treated when fewer of them could be judged than were asked for.
enum class SmallCells { kKept, kDropped, kRefused };

struct FilterSettings {
  gym::EvalOptions eval;
  prompt::PromptOptions asking;  // options of the prompts of pending samples
  int jobs = 1;                  // samples being judged at once
  int tries = 3;                 // tries of a judgement that failed through no fault of the sample
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

// Progress of a run. Several threads call these functions, one at a time.
struct FilterEvents {
  // Called again for each round in which other samples replace those whose problem was at fault.
  std::function<void(std::uint64_t to_judge, std::uint64_t earlier, std::uint64_t earlier_passed)>
      begin;
  std::function<void(bool passed)> judged;
  std::function<void(const std::string& id, const Error& error, bool again)> failed;
};

// Theory of operation: a first reading of the data set chooses the samples to judge. A second hands
// them to `jobs` threads over a bounded queue. Each finding is appended to the log and synced
// before it counts. With per_cell, a sample whose problem is at fault is left out of the choice,
// and another sample of its cell is judged in its place. That goes on, round after round, until
// every cell has its number or there are no more samples. The last choice depends on the samples
// alone, not on kills. When all have a finding, a last reading writes `out`: samples that passed
// with their verdict, and samples that are not judged unchanged. After kill -9 at any moment the
// same call goes on, and judges again at most the samples in flight. A log of other options or
// another version of the gym is kInvalidArgument. `rejected` gets a line {"id", "outcome",
// "reason"} for each sample that goes. After failures (unless skip_failed) or a stop nothing is
// written to `out`; kInvalidArgument names the small cells that are refused. Memory: about 300
// bytes a judged sample.
Result<FilterReport> filter_dataset(const FilterFiles& files, const FilterSettings& settings,
                                    gym::Judge& judge, const FilterEvents& events,
                                    const std::stop_token& stop);

}  // namespace kw::data
