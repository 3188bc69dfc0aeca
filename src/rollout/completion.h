// Completions: text in, text out, over a Generator: prompts and chats, several answers to one
// prompt, stop strings, log-probabilities. The command line, the server and training use it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/detokenizer.h"
#include "lm/tokenizer/tokenizer.h"
#include "rollout/generator.h"

namespace kw::rollout {

struct CompletionRequest {
  // Text, a conversation, or tokens as they are.
  std::variant<std::string, std::vector<lm::ChatMessage>, std::vector<lm::TokenId>> prompt;
  bool continue_final = false;  // of a conversation: go on with its last message
  bool enable_thinking = true;  // of a conversation: see lm::ChatOptions
  int choices = 1;              // n
  std::int64_t max_tokens = 256;
  std::vector<std::string> stop;
  std::vector<std::int32_t> stop_tokens;
  bool ignore_end = false;  // the model's own ends are tokens like others
  lm::SamplingSettings sampling;
  std::uint64_t seed = 0, first_sequence = 0;  // choice i draws as sequence first_sequence + i
  std::shared_ptr<const lm::LogitMask> mask;
  std::int32_t top_logprobs = 0;  // the likeliest tokens beside each one that was drawn
};

enum class FinishReason { kStop, kLength, kCancelled };
std::string_view to_string(FinishReason reason);  // "stop", "length", "cancelled"

// A part of one choice. Text and tokens do not go together one by one: a token may end inside a
// character, and text that may begin a stop string is held back.
struct CompletionPart {
  int choice = 0;
  std::string text;
  std::vector<lm::Sample> tokens;
  std::optional<FinishReason> finish;  // of the last part
};

class CompletionListener {
 public:
  virtual ~CompletionListener() = default;
  virtual void part(CompletionPart part) = 0;
  virtual void done() = 0;  // all choices have finished; nothing comes after it
};

// The tokens that a request's answers follow on.
Result<std::vector<lm::TokenId>> prompt_tokens(const CompletionRequest& request,
                                               const lm::Tokenizer& tokenizer,
                                               const lm::ChatTemplate& chat);

// One thread, that of the generator. Borrows tokenizer and generator.
class Completions {
 public:
  // ends: the model's own (ModelConfig::eos).
  Completions(const lm::Tokenizer& tokenizer, lm::ChatTemplate chat, Generator& generator,
              std::vector<std::int64_t> ends);

  using Id = std::uint64_t;
  struct Started {
    Id id = 0;
    std::int64_t prompt_tokens = 0;
  };
  // The listener hears from the next step on, and is borrowed until done(). kInvalidArgument names
  // what is wrong.
  Result<Started> start(const CompletionRequest& request, CompletionListener* listener);
  void cancel(Id id);  // the rest of its choices finish as cancelled

  const lm::ChatTemplate& chat() const { return chat_; }

  ~Completions();

 private:
  class Choice;
  struct Running;
  void choice_finished(Id id);

  const lm::Tokenizer& tokenizer_;
  lm::ChatTemplate chat_;
  Generator& generator_;
  std::vector<std::int32_t> ends_;
  Id next_id_ = 1;
  std::map<Id, std::unique_ptr<Running>> running_;
};

}  // namespace kw::rollout
