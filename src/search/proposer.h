// Proposer: where answers come from. A language model, a program that writes kernels, a recording.
#pragma once
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "gym/gym.h"
#include "link/generate_request.h"
#include "runlog/run_folder.h"
#include "runlog/tree.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::search {

struct ProposalRequest {
  const task::Problem* problem = nullptr;  // lives as long as the proposer
  const task::Signature* signature = nullptr;
  std::string key;  // the problem's key in the run
  int attempt = 0;
  std::uint64_t seed = 0;  // keyed by the run's seed, problem and attempt
  std::vector<text::ChatMessage> messages;
  int parent = runlog::kNoParent;
  // The finished attempts below `visible` of the decision, with their blobs in `run`: all that a
  // program may base its next candidate on, so that a run replays.
  std::vector<runlog::Attempt> history;
  const runlog::RunFolder* run = nullptr;
  // Attempts before this one that are not in `history` and were asked of the same proposer.
  int in_flight = 0;
};

// A request that failed, through no fault of a candidate.
struct FailedTry {
  Error error;
  std::string kind;  // the same as in runlog::Failed
  text::Usage usage;
};

struct Proposal {
  std::string answer;          // text with fenced code
  std::string reasoning = {};  // told beside it; no part of the answer
  std::string by;              // model or program
  std::string label;           // strategy of a program's candidate
  std::string suspicion = {};  // the same as in runlog::Answered
  text::Finish finish = text::Finish::kStop;
  text::Usage usage;
  std::vector<FailedTry> failed;  // beside the one that answered
};
struct Exhausted {  // there is nothing more to propose for this problem
  std::string reason;
  runlog::End end = runlog::End::kExhausted;
};
struct NoAnswer {
  std::vector<FailedTry> failed;  // at least one; the last is reported
  bool again = false;             // the same request may be answered later
};
using Proposed = std::variant<Proposal, Exhausted, NoAnswer>;

// Any thread may call, for several attempts at once.
class Proposer {
 public:
  virtual ~Proposer() = default;
  // Blocks until the answer is there. The caller alone repeats what failed: after NoAnswer where
  // `again` says so, after an error (ours or the world's) where may_retry() does; else the problem
  // ends as failed. kCancelled after a stop. The same request gives the same answer where the
  // proposer can promise that.
  virtual Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) = 0;
  virtual std::string name() const = 0;  // for people: "recorded answers.jsonl", a model's folder
  virtual int most_at_once() const { return 64; }
  // The part of the proposer that runs on this machine and can stand still while kernels are timed;
  // null: there is none. It lives as long as the proposer.
  virtual gym::Background* background() { return nullptr; }
};

// Even attempts go to the first proposer, odd ones to the second. When one is exhausted, its
// attempts go to the other. That one may then be asked for the same answer twice, because it does
// not know which attempts are in flight elsewhere.
std::unique_ptr<Proposer> alternate(std::unique_ptr<Proposer> first,
                                    std::unique_ptr<Proposer> second);

}  // namespace kw::search
