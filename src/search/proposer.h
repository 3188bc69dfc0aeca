// Proposer: where answers come from. A language model, a program that writes kernels, a recording.
#pragma once
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "link/generate_request.h"
#include "runlog/run_folder.h"
#include "runlog/tree.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::search {

struct ProposalRequest {
  const task::Problem* problem = nullptr;  // lives as long as the proposer
  const task::Signature* signature = nullptr;
  std::string key;  // of the problem in the run
  int attempt = 0;
  std::uint64_t seed = 0;  // keyed by the run's seed, problem and attempt
  std::vector<link::Message> messages;
  int parent = runlog::kNoParent;
  // The finished attempts below `visible` of the decision, with their blobs in `run`: all that a
  // program may base its next candidate on, so that a run replays.
  std::vector<runlog::Attempt> history;
  const runlog::RunFolder* run = nullptr;
};

struct Proposal {
  std::string answer;  // text with fenced code
  std::string by;      // model or program
  std::string label;   // strategy of a program's candidate
  runlog::Finish finish = runlog::Finish::kStop;
  runlog::Usage usage;
};
struct Exhausted {  // nothing more to propose for this problem
  std::string reason;
};
using Proposed = std::variant<Proposal, Exhausted>;

// Any thread may call, for several attempts at once.
class Proposer {
 public:
  virtual ~Proposer() = default;
  // Blocks until the answer is there. An error is ours or the world's: where may_retry() says so,
  // the request is made again after a pause, else the problem ends as failed. kCancelled after a
  // stop. The same request gives the same answer where the proposer can promise that.
  virtual Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) = 0;
  virtual std::string name() const = 0;  // for people: "recorded answers.jsonl", a model's folder
  virtual int most_at_once() const { return 64; }
};

// Even attempts go to the first, odd ones to the second; when one is exhausted, to the other.
std::unique_ptr<Proposer> alternate(std::unique_ptr<Proposer> first,
                                    std::unique_ptr<Proposer> second);

}  // namespace kw::search
