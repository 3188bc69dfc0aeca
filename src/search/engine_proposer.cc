#include "search/engine_proposer.h"

#include <algorithm>
#include <future>

namespace kw::search {
namespace {

constexpr std::chrono::seconds kGrace{5};  // for the engine to end

// Collects one answer; its promise is kept exactly once.
class Collect : public link::GenerationListener {
 public:
  explicit Collect(std::promise<Result<Proposal>> promise) : promise_(std::move(promise)) {}

  void accepted(const link::Accepted&) override {}
  void part(link::Part part) override {
    proposal_.answer += part.text;
    if (part.finish == text::Finish::kLength) proposal_.finish = text::Finish::kLength;
    if (part.finish == text::Finish::kCancelled) cancelled_ = true;
  }
  void done(const link::Done& done) override {
    if (cancelled_) return promise_.set_value(fail(ErrorCode::kCancelled, "cancelled"));
    proposal_.usage.prompt_tokens = done.prompt_tokens;
    proposal_.usage.completion_tokens = done.sampled_tokens;
    promise_.set_value(std::move(proposal_));
  }
  void failed(const link::Failed& failure) override {
    if (failure.reason != link::FailureReason::kContextLength)
      return promise_.set_value(fail(failure.code, failure.message));
    proposal_.finish = text::Finish::kContext;
    promise_.set_value(std::move(proposal_));
  }

 private:
  std::promise<Result<Proposal>> promise_;
  Proposal proposal_;
  bool cancelled_ = false;
};

}  // namespace

EngineProposer::EngineProposer(Start start, std::string name, const Sampling& sampling)
    : start_(std::move(start)), name_(std::move(name)), sampling_(sampling) {}

// The client first: it ends the engine by closing the link.
EngineProposer::~EngineProposer() {
  client_.reset();
  end_engine();
}

Result<std::unique_ptr<EngineProposer>> EngineProposer::start(Start start, std::string name,
                                                              const Sampling& sampling,
                                                              const std::stop_token& stop) {
  std::unique_ptr<EngineProposer> out(
      new EngineProposer(std::move(start), std::move(name), sampling));
  KW_TRY(auto client, out->client(stop));
  return out;
}

Result<std::shared_ptr<link::ModelClient>> EngineProposer::client(const std::stop_token& stop) {
  std::lock_guard lock(mutex_);
  if (client_ && client_->alive()) return client_;
  client_.reset();
  end_engine();
  KW_TRY(os::UniqueFd socket, start_engine());
  auto connected = link::ModelClient::connect(std::move(socket), [](const Error&) {}, stop);
  if (!connected) {
    const bool has_ended = connected.error().code() == ErrorCode::kUnavailable;
    const std::string how = end_engine();
    if (!has_ended) return tl::unexpected(std::move(connected).error());
    return fail(ErrorCode::kUnavailable, "kernelwright-lm has ended: {}", how);
  }
  client_ = std::move(*connected);
  return client_;
}

Result<os::UniqueFd> EngineProposer::start_engine() {
  KW_TRY(os::ChildProgram engine, start_());
  os::UniqueFd socket = engine.take_socket();
  std::lock_guard lock(engine_mutex_);
  engine_.emplace(std::move(engine));
  if (paused_) engine_->pause();
  return socket;
}

std::string EngineProposer::end_engine() {
  std::optional<os::ChildProgram> engine;
  {
    std::lock_guard lock(engine_mutex_);
    if (engine_) engine.emplace(std::move(*engine_));
    engine_.reset();
  }
  return engine ? engine->wait(kGrace) : "";
}

void EngineProposer::pause() {
  std::lock_guard lock(engine_mutex_);
  paused_ = true;
  if (engine_) engine_->pause();
}

void EngineProposer::resume() {
  std::lock_guard lock(engine_mutex_);
  paused_ = false;
  if (engine_) engine_->resume();
}

int EngineProposer::most_at_once() const {
  return client_ ? static_cast<int>(std::clamp<std::int64_t>(client_->model().slots, 1, 256)) : 1;
}

Result<Proposed> EngineProposer::propose(const ProposalRequest& request, std::stop_token stop) {
  KW_TRY(std::shared_ptr<link::ModelClient> engine, client(stop));
  link::GenerateRequest generate;
  generate.prompt = request.messages;
  generate.temperature = sampling_.temperature;
  generate.top_p = sampling_.top_p;
  generate.max_tokens = sampling_.max_tokens;
  generate.seed = request.seed;
  std::promise<Result<Proposal>> promise;
  std::future<Result<Proposal>> answer = promise.get_future();
  engine->generate(std::move(generate), std::make_unique<Collect>(std::move(promise)),
                   std::move(stop));
  KW_TRY(Proposal proposal, answer.get());
  proposal.by = name_;
  return Proposed(std::move(proposal));
}

}  // namespace kw::search
