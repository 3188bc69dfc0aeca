// What happens in a run, one line of events.jsonl each (docs/formats/run.md). Every decision and
// every result is an event: from them alone the tree of attempts is built again (tree.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/progress.h"
#include "task/verdict.h"
#include "text/finish.h"
#include "text/usage.h"

namespace kw::runlog {

// Raised with every change of an event that an older reader would misread.
inline constexpr std::int64_t kSchema = 1;

inline constexpr int kNoParent = -1;         // from the problem's own prompt
inline constexpr int kReferenceParent = -2;  // the reference was drawn: the same prompt

struct RunStarted {  // the first
  std::string version;
  std::int64_t gym_version = 0;
  std::string at;       // UTC, "2025-01-31T12:00:00Z"
  std::string command;  // "solve"
  Json settings;        // resolved, as in run.toml
  struct Problem {
    std::string key;  // unique in the run: the name, with "#2" behind it where it is not
    std::string name, hash;
  };
  std::vector<Problem> problems;  // all that are searched, in order
  std::string hardware = {};      // that kernels are timed on; empty: not known
  struct Unread {
    std::string name, message;
  };
  std::vector<Unread> unread = {};  // asked for too, and passed over: they could not be read
};
struct RunResumed {
  std::string version, at;
  std::string hardware = {};
};
struct ProblemStarted {
  std::string problem;  // here and below: its key
};
// An attempt begins. Attempts count from 0 without a gap.
struct Decided {
  std::string problem;
  int attempt = 0;
  int visible = 0;  // the decision was made from the attempts below this one
  int parent = kNoParent;
  std::optional<double> draw;  // in [0, 1), where the parent was drawn
  std::uint64_t seed = 0;      // of the answer
  std::string prompt_template;
  std::string prompt;  // blob: [{"role", "content"}]
};
struct Answered {
  std::string problem;
  int attempt = 0;
  std::string by;      // the proposer: "recorded", "writer", a model's name
  std::string label;   // of a program's candidate: its strategy; else empty
  std::string answer;  // blob: text
  text::Finish finish = text::Finish::kStop;
  text::Usage usage;
  double wall_ms = 0;
  std::string reasoning = {};  // blob: text that a server told beside the answer; empty: none
  std::string suspicion =
      {};  // what a model's text looks like beside an answer: "prompt_echo", ...
};
struct Extracted {
  std::string problem;
  int attempt = 0;
  std::string candidate;       // blob: language and files; empty: no code
  std::string candidate_hash;  // task::Candidate::hash
  std::string why_not;         // empty when there is code
};
struct Judged {
  std::string problem;
  int attempt = 0;
  task::Outcome outcome = task::Outcome::kPassed;
  std::string violation;
  task::Progress progress = task::Progress::kNothing;
  std::optional<double> error;  // of wrong values: the worst of the budget; absent: not finite
  std::optional<task::Speedup> speedup;
  std::string verdict;      // blob: docs/formats/verdict.md
  int same_as = kNoParent;  // an attempt with the same candidate, whose verdict this is
  double wall_ms = 0;
};
inline constexpr std::string_view kPrepareStage = "prepare", kProposeStage = "propose",
                                  kJudgeStage = "judge";

// Ours or the world's failure, never the candidate's.
struct Failed {
  std::string problem;
  int attempt = 0;
  std::string stage;  // kPrepareStage (attempt 0 then), kProposeStage, kJudgeStage
  int number = 1;     // of tries since the run was started or resumed
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  bool again = false;  // another try follows, or answered beside it
  std::string kind;    // of a request to a server: "rate_limited", "cut", ...; else empty
  text::Usage usage;   // what the try has cost nevertheless
};
// How failures are counted: the kind, else stage and code, "judge_unavailable".
std::string kind_of(const Failed& failed);

enum class End {
  kAttempts,  // the method has made all that it may
  kFirstCorrect,
  kTarget,  // the target speedup, by the interval's lower end
  kTokens,
  kSeconds,
  kCost,
  kExhausted,    // the proposer has nothing more
  kQuarantined,  // the problem cannot be judged
  kUnsupported,  // nor its language here
  kFailed,       // we failed; a resumed run goes on with it
};
std::string_view to_string(End end);  // "attempts", "first_correct", ...
std::optional<End> end_from_string(std::string_view name);

struct ProblemEnded {
  std::string problem;
  End end = End::kAttempts;
  std::string reason;    // for people, where the end does not say it all
  int best = kNoParent;  // attempt
  double wall_s = 0;     // for how long it was searched, in all sessions
};
struct RunEnded {};  // every problem has ended

using EventBody = std::variant<RunStarted, RunResumed, ProblemStarted, Decided, Answered, Extracted,
                               Judged, Failed, ProblemEnded, RunEnded>;
struct Event {
  std::int64_t at_ms = 0;  // since the run's start, without the pauses before a resume
  EventBody body;
};

// {"at_ms", "type", ...}; fields at their default are written too.
Json to_json(const Event& event);
// kInvalidArgument names the field.
Result<Event> event_from_json(const Json& value);

}  // namespace kw::runlog
