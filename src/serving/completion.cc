#include "serving/completion.h"

#include <utility>

namespace kw::serving {

struct Completions::Running {
  CompletionListener* listener = nullptr;
  std::vector<std::unique_ptr<Choice>> choices;
  std::vector<SequenceId> sequences;
  std::size_t open = 0;  // choices that have not finished
};

// One choice's tokens on their way to text.
class Completions::Choice : public SequenceListener {
 public:
  Choice(Completions* owner, Id id, int index, lm::Detokenizer detokenizer,
         CompletionListener* listener)
      : owner_(owner),
        id_(id),
        index_(index),
        detokenizer_(std::move(detokenizer)),
        listener_(listener) {}

  bool token(const lm::Sample& sample) override {
    pending_.push_back(sample);
    std::string text = detokenizer_.push(sample.token);
    if (!text.empty()) tell(std::move(text), std::nullopt);
    return !detokenizer_.stopped_by();
  }

  void finished(text::Finish finish) override {
    std::string rest = detokenizer_.finish();
    // The last characters can complete a stop string that the end of the answer had held open.
    if (detokenizer_.stopped_by()) finish = text::Finish::kStop;
    tell(std::move(rest), finish);
    owner_->choice_finished(id_);
  }

 private:
  void tell(std::string text, std::optional<text::Finish> finish) {
    listener_->part({index_, std::move(text), std::exchange(pending_, {}), finish});
  }

  Completions* owner_;
  Id id_;
  int index_;
  lm::Detokenizer detokenizer_;
  CompletionListener* listener_;
  std::vector<lm::Sample> pending_;  // not told yet
};

Completions::Completions(const lm::Tokenizer& tokenizer, lm::ChatTemplate chat,
                         Generator& generator, const std::vector<std::int64_t>& ends)
    : tokenizer_(tokenizer), chat_(std::move(chat)), generator_(generator) {
  for (std::int64_t end : ends) ends_.push_back(static_cast<std::int32_t>(end));
  if (auto end = tokenizer.token_id(chat_.end_of_turn()); end && !chat_.end_of_turn().empty())
    ends_.push_back(static_cast<std::int32_t>(*end));
}

Completions::~Completions() = default;

Result<std::vector<lm::TokenId>> prompt_tokens(const link::GenerateRequest& request,
                                               const lm::Tokenizer& tokenizer,
                                               const lm::ChatTemplate& chat) {
  if (const auto* tokens = std::get_if<std::vector<lm::TokenId>>(&request.prompt)) return *tokens;
  if (const auto* text = std::get_if<std::string>(&request.prompt)) return tokenizer.encode(*text);
  const auto& messages = std::get<std::vector<text::ChatMessage>>(request.prompt);
  lm::ChatOptions options;
  options.arguments = request.template_arguments;
  if (request.continue_final) options.end = lm::ChatEnd::kContinueFinal;
  KW_TRY(std::string text, chat.render(messages, options));
  return tokenizer.encode(text, {.add_special = false});
}

Result<Completions::Started> Completions::start(const link::GenerateRequest& request,
                                                CompletionListener* listener) {
  if (request.n < 1 || request.n > link::kMaxAnswers)
    return fail(ErrorCode::kInvalidArgument, "n: expected 1 to {}, not {}", link::kMaxAnswers,
                request.n);
  KW_TRY(auto tokens, prompt_tokens(request, tokenizer_, chat_));
  std::vector<std::int32_t> prompt(tokens.begin(), tokens.end());
  const Id id = next_id_++;
  auto running = std::make_unique<Running>();
  running->listener = listener;
  std::vector<SequenceSettings> settings;
  std::vector<SequenceListener*> listeners;
  for (int i = 0; i < request.n; ++i) {
    KW_TRY(auto detokenizer, lm::Detokenizer::make(tokenizer_, {.stop = request.stop}));
    running->choices.push_back(
        std::make_unique<Choice>(this, id, i, std::move(detokenizer), listener));
    listeners.push_back(running->choices.back().get());
    SequenceSettings one;
    one.sampling = {request.temperature, request.top_k, request.top_p, request.min_p};
    one.max_tokens = request.max_tokens;
    one.stop_tokens = request.stop_token_ids;
    if (!request.ignore_end)
      one.stop_tokens.insert(one.stop_tokens.end(), ends_.begin(), ends_.end());
    one.seed = request.seed;
    one.sequence = request.first_sequence + static_cast<std::uint64_t>(i);
    one.top_logprobs = request.top_logprobs;
    settings.push_back(std::move(one));
  }
  const auto prompt_size = static_cast<std::int64_t>(prompt.size());
  KW_TRY(running->sequences, generator_.submit(prompt, settings, listeners));
  running->open = running->choices.size();
  running_.emplace(id, std::move(running));
  return Started{id, prompt_size};
}

void Completions::cancel(Id id) {
  auto found = running_.find(id);
  if (found == running_.end()) return;
  const std::vector<SequenceId> sequences = found->second->sequences;  // it goes with the last one
  for (SequenceId sequence : sequences) generator_.cancel(sequence);
}

void Completions::choice_finished(Id id) {
  Running& running = *running_.at(id);
  if (--running.open > 0) return;
  CompletionListener* listener = running.listener;
  // One of the choices has called this, and uses nothing of itself any more.
  auto ended = running_.extract(id);
  listener->done();
}

}  // namespace kw::serving
