// ServerProposer: answers of any server with OpenAI's chat completion API.
#pragma once
#include <memory>
#include <string>

#include "openai/chat_client.h"
#include "search/engine_proposer.h"
#include "search/proposer.h"

namespace kw::search {

class ServerProposer : public Proposer {
 public:
  // model: as the server calls it.
  ServerProposer(openai::ChatClient client, std::string model, const Sampling& sampling,
                 int concurrency)
      : client_(std::move(client)),
        model_(std::move(model)),
        sampling_(sampling),
        concurrency_(concurrency) {}

  // The client has made its own tries when an error comes. A server whose chat template is not the
  // model's is no error: the proposal says so in its label.
  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override;
  std::string name() const override;
  int most_at_once() const override { return concurrency_; }
  openai::Counts counts() const { return client_.counts(); }

 private:
  openai::ChatClient client_;
  const std::string model_;
  const Sampling sampling_;
  const int concurrency_;
};

}  // namespace kw::search
