// The tree of attempts of each problem, built from a run's events. Plain values; one thread, or
// many that only read.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runlog/event.h"

namespace kw::runlog {

struct Attempt {
  int id = 0;
  Decided decided;
  std::optional<Answered> answered;
  std::optional<Extracted> extracted;
  std::optional<Judged> judged;
  // Judging failed as often as it may: there is no verdict, unless the problem ends as failed and a
  // resumed run judges it again.
  bool abandoned = false;

  // With a verdict, known to have no code, or abandoned.
  bool finished() const {
    return judged || abandoned || (extracted && extracted->candidate.empty());
  }
  bool correct() const { return judged && judged->progress == task::Progress::kCorrect; }
  // Passed with an error near its budget, so not taken as correct (docs/correctness.md).
  bool borderline() const {
    return judged && judged->outcome == task::Outcome::kPassed && !correct();
  }
  // The outcome's name, or "borderline". There is a verdict.
  std::string_view outcome_name() const;
  task::Progress progress() const;
};

// Of an attempt without a verdict: "not_judged" (through no fault of its own), "no_code",
// "cut_answer", "prompt_too_long", "refused".
std::string_view why_no_verdict(const Attempt& attempt);

// Whether a came further than b: the faster of two correct ones (one without a time comes last),
// the smaller error of two with wrong values. False for equals.
bool further(const Attempt& a, const Attempt& b);

struct ProblemTree {
  std::string key, name, hash;
  bool started = false;
  bool searching = false;       // begun by this process, and not ended
  std::int64_t begun_ms = 0;    // of this process; where it is searched
  std::int64_t earlier_ms = 0;  // that it was searched before: while it waits, no time passes
  std::vector<Attempt> attempts;
  std::vector<Failed> failures;
  std::optional<ProblemEnded> ended;

  // Of the first `visible` attempts: the correct one that came furthest, the earliest of equals;
  // nullptr when none is correct.
  const Attempt* best(std::size_t visible) const;
  const Attempt* best() const { return best(attempts.size()); }
  text::Usage usage() const;  // of answers, and of tries that failed
  // For how long it has been searched, in all sessions; now_ms: as events have it.
  std::int64_t searched_ms(std::int64_t now_ms) const {
    return earlier_ms + (searching ? now_ms - begun_ms : 0);
  }
  // The last failure of the first attempt that was left without a verdict; nullptr where all have
  // theirs. Attempts are judged side by side: which one's failure came last says nothing.
  const Failed* abandonment() const;
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
