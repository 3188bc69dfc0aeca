// Solver: runs the search of many problems at once and writes down all that happens.
//
// Theory of operation: one thread (run()'s caller) owns the tree of attempts and the log. It
// decides, writes the decision, and hands work to two pools: one asks proposers (and describes
// problems), one judges. Results come back through a mailbox, are written to the log, and may allow
// the next decision. A decision is made only when every attempt that it may look at is finished,
// and looks at nothing else, so it does not depend on the order in which results came. What is in
// flight is bounded by settings (jobs x parallel). A log that cannot be written ends the run at
// once.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "prompt/problem_prompt.h"
#include "runlog/run_folder.h"
#include "search/proposer.h"
#include "search/recorded_judge.h"
#include "search/settings.h"

namespace kw::search {

struct SearchProblem {
  std::string key;
  task::Problem problem;
};

// On the solver's thread.
class Observer {
 public:
  virtual ~Observer() = default;
  // After every event, with the tree as it is then.
  virtual void happened(const runlog::Event& event, const runlog::Run& run) = 0;
  // Before its event is written; signature: null where the problem's interface is not known. An
  // error ends the run.
  virtual Status problem_ends(const SearchProblem& problem, const task::Signature* signature,
                              const runlog::ProblemTree& tree) = 0;
  // About once a second while nothing happens.
  virtual void waits(const runlog::Run&) {}
};

// All borrowed.
struct SolverParts {
  Proposer* proposer = nullptr;
  gym::Judge* judge = nullptr;
  Observer* observer = nullptr;
  runlog::RunFolder* folder = nullptr;
  prompt::PromptOptions prompt;
  gym::EvalOptions eval;
  std::function<std::chrono::steady_clock::time_point()> now;
};

class Solver {
 public:
  // settings: resolved. run: empty, or as the folder's events have it; kept up to date.
  Solver(Settings settings, std::vector<SearchProblem> problems, SolverParts parts,
         runlog::Run& run);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  // start: RunStarted or RunResumed. Returns when every problem has ended: some perhaps as failed.
  // kCancelled after a stop, and the error of a log that cannot be written or of a proposer that
  // failed for three problems in a row; a resumed run goes on then.
  Status run(runlog::EventBody start, const std::stop_token& stop);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw::search
