// SearchLog: the run of a search as it is written down, with its clock.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/result.h"
#include "runlog/run_folder.h"
#include "runlog/tree.h"

namespace kw::search {

// Writes a run's events. Only one thread may use it, and everything is borrowed.
class SearchLog {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  using Told = std::function<void(const runlog::Event&)>;

  // told: after every event.
  SearchLog(runlog::RunFolder* folder, runlog::Run& run, Now now, Told told)
      : folder_(folder),
        run_(run),
        now_(std::move(now)),
        told_(std::move(told)),
        begin_(now_()),
        base_ms_(run.last_ms) {}

  // Written, then in the tree.
  Status record(runlog::EventBody body) {
    runlog::Event event{now_ms(), std::move(body)};
    KW_TRY_STATUS(folder_->append(event));
    KW_TRY_STATUS(run_.apply(event));
    told_(event);
    return {};
  }

  // The time in the form of events.
  std::int64_t now_ms() const {
    return base_ms_ +
           std::chrono::duration_cast<std::chrono::milliseconds>(now_() - begin_).count();
  }
  const runlog::Run& run() const { return run_; }
  // The tree of a problem in the run.
  const runlog::ProblemTree& tree(const std::string& key) const {
    return *std::as_const(run_).find(key);
  }
  const runlog::RunFolder& folder() const { return *folder_; }

 private:
  runlog::RunFolder* folder_;
  runlog::Run& run_;
  Now now_;
  Told told_;
  std::chrono::steady_clock::time_point begin_;
  std::int64_t base_ms_;
};

}  // namespace kw::search
