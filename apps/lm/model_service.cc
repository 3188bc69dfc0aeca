#include "model_service.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include <poll.h>

namespace kw::lm_program {
namespace {

// JSON has no infinities; this is below what any token of a float32 softmax has.
constexpr double kMinLogprob = -9999;

double sendable(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : kMinLogprob;
}

std::size_t text_bytes(const link::GenerateRequest& request) {
  if (const auto* text = std::get_if<std::string>(&request.prompt)) return text->size();
  std::size_t out = 0;
  if (const auto* messages = std::get_if<std::vector<text::ChatMessage>>(&request.prompt))
    for (const text::ChatMessage& message : *messages) out += message.content.size();
  return out;
}

}  // namespace

// One request's parts, on their way to the front program.
class ModelService::Answer : public serving::CompletionListener {
 public:
  Answer(ModelService& service, link::RequestId id, bool logprobs)
      : service_(service), id_(id), logprobs_(logprobs) {}

  void started(const serving::Completions::Started& started) { started_ = started; }
  serving::Completions::Id completion() const { return started_.id; }

  void part(serving::CompletionPart part) override {
    sampled_ += static_cast<std::int64_t>(part.tokens.size());
    if (too_slow_) return;
    if (service_.channel_.queued_bytes() > kMaxQueuedBytes) {
      too_slow_ = true;
      service_.too_slow_.push_back(id_);
      return;
    }
    link::Part out;
    out.id = id_;
    out.choice = part.choice;
    out.text = std::move(part.text);
    for (const lm::Sample& sample : part.tokens) {
      out.tokens.push_back(sample.token);
      if (logprobs_) out.logprobs.push_back(logprobs_of(sample));
    }
    out.finish = part.finish;
    service_.tell(std::move(out));
  }

  void done() override {
    if (too_slow_)
      service_.tell(link::Failed{id_, ErrorCode::kResourceExhausted,
                                 "the answer was not read: it is given up"});
    else
      service_.tell(link::Done{id_, started_.prompt_tokens, sampled_});
    service_.ended_.push_back(id_);
  }

 private:
  link::TokenReport report_of(std::int32_t token, float logprob) const {
    return {token, sendable(logprob),
            std::string(service_.session_.tokenizer().token_bytes(token))};
  }
  link::TokenLogprobs logprobs_of(const lm::Sample& sample) const {
    link::TokenLogprobs out;
    out.drawn = report_of(sample.token, sample.logprob);
    for (const lm::TokenLogprob& one : sample.top)
      out.top.push_back(report_of(one.token, one.logprob));
    return out;
  }

  ModelService& service_;
  link::RequestId id_;
  bool logprobs_;
  bool too_slow_ = false;
  serving::Completions::Started started_;
  std::int64_t sampled_ = 0;
};

ModelService::ModelService(ModelSession& session, link::Channel& channel)
    : session_(session), channel_(channel) {
  const lm::Tokenizer& tokenizer = session.tokenizer();
  for (std::size_t id = 0; id < tokenizer.size(); ++id)
    longest_token_ =
        std::max(longest_token_, tokenizer.token_bytes(static_cast<lm::TokenId>(id)).size());
}

ModelService::~ModelService() = default;

void ModelService::tell(const link::EngineMessage& message) {
  // Over the frame's limit is no message of ours: a part is one step's.
  static_cast<void>(channel_.queue(to_json(message)));
}

Status ModelService::run() {
  serving::Generator& generator = session_.generator();
  for (;;) {
    const bool busy = generator.running() + generator.waiting() > 0;
    const auto writing = static_cast<short>(channel_.queued_bytes() > 0 ? POLLOUT : 0);
    pollfd wait{channel_.fd(), static_cast<short>(POLLIN | writing), 0};
    if (::poll(&wait, 1, busy ? 0 : -1) < 0 && errno != EINTR)
      return fail_errno(errno, "cannot wait for the front program");
    if ((wait.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      bool front_is_gone = false;
      KW_TRY_STATUS(take_messages(front_is_gone));
      if (front_is_gone) return {};
    }
    if (generator.running() + generator.waiting() > 0 && !generator.step())
      return fail(ErrorCode::kInternal, "the scheduler has nothing to do, and answers are missing");
    drop_ended();
    if (auto flushed = channel_.flush(); !flushed) {
      if (flushed.error().code() == ErrorCode::kUnavailable) return {};
      return flushed;
    }
  }
}

Status ModelService::take_messages(bool& front_is_gone) {
  std::vector<Json> messages;
  auto received = channel_.receive(messages);
  for (const Json& one : messages) {
    auto message = link::front_message_from_json(one);
    if (!message)
      return tl::unexpected(
          std::move(message).error().with_context("a message of the front program"));
    KW_TRY_STATUS(take(std::move(*message)));
  }
  front_is_gone = !received && received.error().code() == ErrorCode::kUnavailable;
  if (front_is_gone) return {};
  return received;
}

Status ModelService::take(link::FrontMessage message) {
  if (auto* generate = std::get_if<link::Generate>(&message)) return start(*generate);
  if (auto* cancel = std::get_if<link::Cancel>(&message)) {
    auto found = answers_.find(cancel->id);
    if (found != answers_.end()) session_.completions().cancel(found->second->completion());
    return {};
  }
  if (auto* request = std::get_if<link::StatisticsRequest>(&message)) {
    tell(statistics(request->id));
    return {};
  }
  return fail(ErrorCode::kInvalidArgument, "the front program says hello again");
}

Result<std::vector<lm::TokenId>> ModelService::prompt_of(const link::GenerateRequest& request,
                                                         link::FailureReason& reason) const {
  // Nothing else is generated while a text is cut into tokens: not one that cannot fit. Three, for
  // what normalisation may take away.
  const auto context = static_cast<std::size_t>(session_.context());
  reason = link::FailureReason::kContextLength;
  if (text_bytes(request) / longest_token_ / 3 >= context)
    return fail(ErrorCode::kInvalidArgument,
                "the prompt has {} bytes, which is more than the context of {} tokens can hold",
                text_bytes(request), context);
  reason = link::FailureReason::kOther;
  KW_TRY(std::vector<lm::TokenId> tokens,
         serving::prompt_tokens(request, session_.tokenizer(), session_.completions().chat()));
  if (tokens.size() < context) return tokens;
  reason = link::FailureReason::kContextLength;
  return fail(ErrorCode::kInvalidArgument,
              "the prompt has {} tokens, which leaves no room for an answer in the context of {}",
              tokens.size(), context);
}

Status ModelService::start(const link::Generate& generate) {
  if (answers_.contains(generate.id))
    return fail(ErrorCode::kInvalidArgument, "request {} is under way already", generate.id);
  link::GenerateRequest request = generate.request;
  link::FailureReason reason = link::FailureReason::kOther;
  auto tokens = prompt_of(request, reason);
  if (!tokens) return refuse(generate.id, tokens.error(), reason);
  request.prompt = std::move(*tokens);
  auto answer = std::make_unique<Answer>(*this, generate.id, generate.request.logprobs);
  auto started = session_.completions().start(request, answer.get());
  if (!started) return refuse(generate.id, started.error());
  answer->started(*started);
  answers_.emplace(generate.id, std::move(answer));
  tell(link::Accepted{generate.id, started->prompt_tokens});
  return {};
}

Status ModelService::refuse(link::RequestId id, const Error& error, link::FailureReason reason) {
  tell(link::Failed{id, error.code(), error.message(), reason});
  return {};
}

link::Statistics ModelService::statistics(link::RequestId id) const {
  const serving::Generator& generator = session_.generator();
  const serving::Generator::Statistics& counts = generator.statistics();
  link::Statistics out;
  out.id = id;
  out.slots = session_.slots();
  out.running = static_cast<std::int64_t>(generator.running());
  out.waiting = static_cast<std::int64_t>(generator.waiting());
  out.steps = counts.steps;
  out.prompt_tokens = counts.prompt_tokens;
  out.sampled_tokens = counts.sampled_tokens;
  out.copied_tokens = counts.copied_tokens;
  return out;
}

void ModelService::drop_ended() {
  for (link::RequestId id : std::exchange(too_slow_, {})) {
    auto found = answers_.find(id);  // it may have finished in the same step
    if (found != answers_.end()) session_.completions().cancel(found->second->completion());
  }
  for (link::RequestId id : std::exchange(ended_, {})) answers_.erase(id);
}

}  // namespace kw::lm_program
