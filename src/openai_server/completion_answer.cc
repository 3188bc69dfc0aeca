#include "openai_server/completion_answer.h"

#include <utility>

#include "net/replies.h"
#include "net/sse.h"

namespace kw::openai_server {
namespace {

void append(ChoiceText& choice, ChoiceText piece) {
  choice.text += piece.text;
  if (piece.logprobs && choice.logprobs)
    choice.logprobs->insert(choice.logprobs->end(), piece.logprobs->begin(), piece.logprobs->end());
  if (piece.token_ids && choice.token_ids)
    choice.token_ids->insert(choice.token_ids->end(), piece.token_ids->begin(),
                             piece.token_ids->end());
  if (piece.finish) choice.finish = piece.finish;
}

}  // namespace

bool Admission::take(std::int64_t sequences) {
  std::int64_t taken = taken_;
  while (taken + sequences <= most_)
    if (taken_.compare_exchange_weak(taken, taken + sequences)) return true;
  return false;
}

class CompletionAnswer::Prompt : public link::GenerationListener {
 public:
  Prompt(std::shared_ptr<CompletionAnswer> answer, std::size_t index)
      : answer_(std::move(answer)), index_(index) {}
  void accepted(const link::Accepted& accepted) override {
    answer_->accepted(accepted.prompt_tokens);
  }
  void part(link::Part part) override { answer_->part(index_, std::move(part)); }
  void done(const link::Done& done) override { answer_->done(done.sampled_tokens); }
  void failed(const link::Failed& failure) override {
    answer_->fail(failure_of(failure, answer_->head_.chat));
  }

 private:
  std::shared_ptr<CompletionAnswer> answer_;
  std::size_t index_;
};

void CompletionAnswer::start(CompletionCall call, AnswerHead head, net::Responder responder,
                             Serving& serving, link::ModelClient& client) {
  auto answer =
      std::make_shared<CompletionAnswer>(call, std::move(head), std::move(responder), serving);
  const std::stop_token stop = answer->stop_.get_token();
  for (std::size_t i = 0; i < call.prompts.size(); ++i)
    client.generate(std::move(call.prompts[i]), std::make_unique<Prompt>(answer, i), stop);
}

CompletionAnswer::CompletionAnswer(const CompletionCall& call, AnswerHead head,
                                   net::Responder responder, Serving& serving)
    : head_(std::move(head)),
      stream_wanted_(call.stream),
      with_usage_(call.include_usage),
      with_token_ids_(call.return_token_ids),
      with_logprobs_(call.prompts.front().logprobs),
      n_(call.n()),
      sequences_(call.sequences()),
      prompts_(call.prompts.size()),
      serving_(serving),
      begin_(serving.now()) {
  choices_.resize(static_cast<std::size_t>(sequences_));
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    choices_[i].index = static_cast<std::int64_t>(i);
    if (with_logprobs_) choices_[i].logprobs.emplace();
    if (with_token_ids_) choices_[i].token_ids.emplace();
  }
  on_leave_.emplace(responder.stop_token(), [this] { stop_.request_stop(); });
  responder_.emplace(std::move(responder));
}

void CompletionAnswer::accepted(std::int64_t prompt_tokens) {
  usage_.prompt_tokens += prompt_tokens;
  if (++accepted_ == prompts_ && stream_wanted_ && !ended_) open_stream();
}

void CompletionAnswer::open_stream() {
  if (!responder_) return;
  stream_ = responder_->stream(net::event_stream_head());
  responder_.reset();
  if (head_.chat)
    for (const ChoiceText& choice : choices_) write(first_event(head_, choice.index, with_usage_));
  for (ChoiceText& piece : std::exchange(early_, {})) take(std::move(piece));
}

void CompletionAnswer::part(std::size_t prompt, link::Part part) {
  if (!std::exchange(any_part_, true))
    serving_.first_part_seconds.observe(
        std::chrono::duration<double>(serving_.now() - begin_).count());
  if (part.finish) count(*part.finish);
  if (ended_ || part.choice >= n_) return;
  ChoiceText piece;
  piece.index = static_cast<std::int64_t>(prompt) * n_ + part.choice;
  piece.text = std::move(part.text);
  piece.finish = part.finish;
  if (with_logprobs_) piece.logprobs = std::move(part.logprobs);
  if (with_token_ids_) piece.token_ids = std::move(part.tokens);
  if (part.finish == text::Finish::kCancelled)
    return fail({503, "the answer was cut short: the server stops", "", "cancelled"});
  if (stream_wanted_ && !stream_)
    early_.push_back(std::move(piece));
  else
    take(std::move(piece));
}

void CompletionAnswer::count(text::Finish finish) {
  if (finish == text::Finish::kStop) serving_.stopped.add();
  if (finish == text::Finish::kLength) serving_.cut.add();
  if (finish == text::Finish::kCancelled) serving_.cancelled.add();
}

void CompletionAnswer::take(ChoiceText piece) {
  ChoiceText& choice = choices_[static_cast<std::size_t>(piece.index)];
  if (!stream_wanted_) return append(choice, std::move(piece));
  if (piece.text.empty() && !piece.finish && !with_logprobs_ && !with_token_ids_) return;
  piece.text_offset = choice.text_offset;
  if (piece.logprobs) choice.text_offset += characters_of(*piece.logprobs);
  write(choice_event(head_, piece, with_usage_));
}

void CompletionAnswer::write(std::string_view data) {
  if (!stream_) return;
  const net::Wrote wrote = stream_->try_write(net::format_event({"", std::string(data), ""}));
  if (wrote == net::Wrote::kTaken) return;
  if (wrote == net::Wrote::kFull) serving_.slow_readers.add();
  stream_.reset();  // cut: what was sent is not whole
  ended_ = true;
  stop_.request_stop();
}

void CompletionAnswer::done(std::int64_t sampled_tokens) {
  usage_.completion_tokens += sampled_tokens;
  if (++done_ == prompts_ && !ended_) complete();
}

void CompletionAnswer::complete() {
  ended_ = true;
  if (responder_) {
    responder_->send(net::json_response(answer_json(head_, choices_, usage_)));
    responder_.reset();
    return;
  }
  if (with_usage_) write(usage_event(head_, usage_));
  write("[DONE]");
  if (stream_) stream_->finish();
}

void CompletionAnswer::fail(const ApiFailure& failure) {
  if (std::exchange(ended_, true)) return;
  serving_.failed.add();
  if (responder_) {
    responder_->send(error_answer(failure));
    responder_.reset();
  } else if (stream_) {
    write(error_json(failure).dump(-1, ' ', false, Json::error_handler_t::replace));
    if (stream_) stream_->finish();  // without [DONE]
  }
  stop_.request_stop();
}

}  // namespace kw::openai_server
