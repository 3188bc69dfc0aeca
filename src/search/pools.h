// Pools: the threads of a search. One pool asks the proposer and describes problems, one judges.
// Results come through one mailbox, in the order of arrival.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <variant>

#include "base/result.h"
#include "gym/gym.h"
#include "os/mailbox.h"
#include "os/workers.h"
#include "prompt/chat.h"
#include "search/proposer.h"
#include "search/recorded_judge.h"
#include "task/signature.h"

namespace kw::search {

// Everything that a problem needs before its first attempt.
struct Preparation {
  task::Signature signature;
  prompt::ChatPrompt prompt;
};

// Messages; problem is the number that the work was posted with.
struct Prepared {
  std::size_t problem = 0;
  Result<Preparation> result;
};
struct Answer {
  std::size_t problem = 0;
  int attempt = 0;
  double wall_ms = 0;
  Result<Proposed> result;
};
struct Judgement {
  std::size_t problem = 0;
  int attempt = 0;
  double wall_ms = 0;
  Result<task::Verdict> result;
};
using Message = std::variant<Prepared, Answer, Judgement>;

struct PoolSizes {
  int proposing = 1, judging = 1;  // threads
  std::size_t most_waiting = 1;    // in each queue
};

// Only one thread may post and take. Work begins after its delay in seconds, during which it keeps
// no thread. Work that is stopped sends no message.
class Pools {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // Borrowed: proposer and judge.
  Pools(Proposer* proposer, gym::Judge* judge, Clock now, const PoolSizes& sizes);

  void prepare(std::size_t problem, double delay, std::function<Result<Preparation>()> work);
  void propose(std::size_t problem, double delay, ProposalRequest request);
  void judge(std::size_t problem, double delay, int attempt, gym::EvalRequest request);
  // Stops what was posted for the problem. Preparing goes on, and its message comes.
  void cancel(std::size_t problem) { stops_[problem].request_stop(); }

  // nullopt after a stop, and when nothing came for so long.
  std::optional<Message> take(const std::stop_token& stop, std::chrono::milliseconds most) {
    return mailbox_.take(stop, most);
  }
  std::optional<Message> take_if_there() { return mailbox_.take_if_there(); }

  // Returns when all threads have ended; messages that came until then can still be taken.
  void stop();

 private:
  double since_ms(std::chrono::steady_clock::time_point begin) const;

  Proposer* proposer_;
  gym::Judge* judge_;
  Clock now_;
  std::map<std::size_t, std::stop_source> stops_;  // by problem
  os::Mailbox<Message> mailbox_;
  // Last: their ends wait for work that uses the rest.
  os::Workers proposing_, judging_;
};

}  // namespace kw::search
