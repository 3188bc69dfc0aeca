// EngineProposer: answers of a local engine, a child program behind a link.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "link/child_program.h"
#include "link/model_client.h"
#include "search/proposer.h"

namespace kw::search {

struct Sampling {
  double temperature = 1, top_p = 1;
  std::int64_t max_tokens = 4096;
};

class EngineProposer : public Proposer {
 public:
  using Start = std::function<Result<link::ChildProgram>()>;

  // Starts the engine and waits until its model is loaded: what it says went wrong, else how it
  // ended. name: the model's, for the tree.
  static Result<std::unique_ptr<EngineProposer>> start(Start start, std::string name,
                                                       const Sampling& sampling,
                                                       const std::stop_token& stop);
  ~EngineProposer() override;

  // kUnavailable when the engine has ended: the next request starts it again.
  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override;
  std::string name() const override { return name_; }
  int most_at_once() const override;

 private:
  EngineProposer(Start start, std::string name, const Sampling& sampling);
  Result<std::shared_ptr<link::ModelClient>> client(const std::stop_token& stop);

  const Start start_;
  const std::string name_;
  const Sampling sampling_;
  std::mutex mutex_;
  std::optional<link::ChildProgram> engine_;   // under mutex_
  std::shared_ptr<link::ModelClient> client_;  // under mutex_
};

}  // namespace kw::search
