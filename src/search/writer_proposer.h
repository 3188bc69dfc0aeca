// WriterProposer: the programmatic kernel author as a proposer of solve. No model, no network: the
// problem's graph in the writer's strategies, and tunings of the one that is fastest so far.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gym/gym.h"
#include "search/proposer.h"
#include "writer/author/tuner.h"
#include "writer/graph/graph.h"

namespace kw::search {

class WriterProposer : public Proposer {
 public:
  using Trace =
      std::function<Result<writer::Graph>(const gym::TraceRequest&, const std::stop_token&)>;

  WriterProposer(Trace trace, task::Language language)
      : trace_(std::move(trace)), language_(language) {}

  // Exhausted when every kernel was proposed that may be faster, and where the reference cannot be
  // traced or has an operator that the writer lacks: the reason names it. Errors are those of the
  // gym's machinery.
  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override;
  std::string name() const override { return "the writer"; }

 private:
  struct Traced {
    std::mutex mutex;  // one thread traces and writes, the others wait
    bool done = false;
    Result<writer::Graph> graph;
    std::unique_ptr<writer::Tuner> tuner;
  };

  Result<std::optional<writer::Draft>> next_draft(const ProposalRequest& request,
                                                  const std::stop_token& stop);

  const Trace trace_;
  const task::Language language_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Traced>> traced_;  // by the problem's key; under mutex_
};

}  // namespace kw::search
