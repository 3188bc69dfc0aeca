// EngineProposer: answers of a local engine, a child program behind a link.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "gym/gym.h"
#include "link/model_client.h"
#include "os/child_program.h"
#include "search/proposer.h"

namespace kw::search {

struct Sampling {
  double temperature = 1, top_p = 1;
  std::int64_t max_tokens = 4096;
};

// Its engine stands still between pause() and resume(), from its start on.
class EngineProposer : public Proposer, public gym::Background {
 public:
  using Start = std::function<Result<os::ChildProgram>()>;

  // Starts the engine and waits until its model is loaded. The error is the one that the engine
  // reports, or else the way in which it ended. name: the model's, for the tree.
  static Result<std::unique_ptr<EngineProposer>> start(Start start, std::string name,
                                                       const Sampling& sampling,
                                                       const std::stop_token& stop);
  ~EngineProposer() override;

  // kUnavailable when the engine has ended: the next request starts it again.
  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override;
  std::string name() const override { return name_; }
  int most_at_once() const override;
  gym::Background* background() override { return this; }
  void pause() override;
  void resume() override;

 private:
  EngineProposer(Start start, std::string name, const Sampling& sampling);
  Result<std::shared_ptr<link::ModelClient>> client(const std::stop_token& stop);
  Result<os::UniqueFd> start_engine();
  std::string end_engine();  // how it ended

  const Start start_;
  const std::string name_;
  const Sampling sampling_;
  std::mutex mutex_;                           // held while a model loads
  std::shared_ptr<link::ModelClient> client_;  // under mutex_
  std::mutex engine_mutex_;                    // never held for long; locked after mutex_
  std::optional<os::ChildProgram> engine_;     // under engine_mutex_
  bool paused_ = false;                        // under engine_mutex_
};

}  // namespace kw::search
