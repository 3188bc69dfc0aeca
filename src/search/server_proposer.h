// ServerProposer: answers of any server with OpenAI's chat completion API.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "openai/chat_client.h"
#include "search/engine_proposer.h"
#include "search/proposer.h"

namespace kw::search {

class ServerProposer : public Proposer {
 public:
  // model: the server's name for it. Tries and on_attempt of the settings are set here: each call
  // of propose() is one try, which its caller repeats and writes down. The deadline is that of all
  // tries of an attempt. Errors are those of ChatClient::make().
  static Result<std::unique_ptr<ServerProposer>> make(openai::ChatSettings settings,
                                                      std::string model, const Sampling& sampling);

  // Exhausted, with End::kCost or End::kTokens, when the client's budget has no room. A server
  // whose chat template is not the model's is no error: the proposal says so as a suspicion.
  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override;
  std::string name() const override;
  int most_at_once() const override { return settings_.concurrency; }

 private:
  ServerProposer(std::string model, const Sampling& sampling)
      : model_(std::move(model)), sampling_(sampling) {}
  openai::Clock& clock() const;
  openai::ChatRequest chat_request(const ProposalRequest& request, const std::string& tag) const;
  // The time that this attempt has left, counted from its first try.
  std::chrono::milliseconds time_left(const std::string& tag);
  std::vector<openai::Attempt> take_attempts(const std::string& tag);
  Result<Proposed> no_answer(const Error& error,
                             const std::vector<openai::Attempt>& attempts) const;
  runlog::End end_by_budget() const;

  const std::string model_;
  const Sampling sampling_;
  openai::ChatSettings settings_;
  std::mutex mutex_;
  std::map<std::string, openai::Clock::Time> begun_;  // the key is the tag; guarded by mutex_
  // Attempts of running calls; the same.
  std::map<std::string, std::vector<openai::Attempt>> attempts_;
  std::unique_ptr<openai::ChatClient> client_;
};

}  // namespace kw::search
