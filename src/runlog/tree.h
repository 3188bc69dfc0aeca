// The tree of attempts of each problem, built from a run's events. Plain values; one thread, or
// many that only read.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runlog/event.h"

namespace kw::runlog {

struct Attempt {
  int id = 0;
  Decided decided;
  std::optional<Answered> answered;
  std::optional<Extracted> extracted;
  std::optional<Judged> judged;
  bool abandoned = false;  // judging failed as often as it may: there will be no verdict

  // With a verdict, known to have no code, or abandoned.
  bool finished() const {
    return judged || abandoned || (extracted && extracted->candidate.empty());
  }
  bool correct() const { return judged && judged->progress == task::Progress::kCorrect; }
  task::Progress progress() const;
};

// Whether a came further than b: the faster of two correct ones (one without a time comes last),
// the smaller error of two with wrong values. False for equals.
bool further(const Attempt& a, const Attempt& b);

struct ProblemTree {
  std::string key, name, hash;
  bool started = false;
  std::int64_t started_ms = 0;  // of the last event "problem_started"
  std::vector<Attempt> attempts;
  std::vector<Failed> failures;
  std::optional<ProblemEnded> ended;

  // Of the first `visible` attempts: the correct one that came furthest, the earliest of equals;
  // nullptr when none is correct.
  const Attempt* best(std::size_t visible) const;
  const Attempt* best() const { return best(attempts.size()); }
  Usage usage() const;  // of answers, and of tries that failed
};

struct Run {
  RunStarted header;
  std::map<std::string, std::size_t> index;  // by key, into problems
  std::vector<ProblemTree> problems;         // in the header's order
  std::set<std::string> hardware;            // of the machines that it ran on, as far as known
  std::int64_t last_ms = 0;
  bool ended = false;

  // kInvalidArgument for an event that cannot follow: an unknown problem, an attempt out of order.
  Status apply(const Event& event);
  ProblemTree* find(const std::string& key);
  const ProblemTree* find(const std::string& key) const;
};

}  // namespace kw::runlog
