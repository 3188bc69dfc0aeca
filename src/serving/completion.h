// Completions: text in, text out, over a Generator: prompts and chats, several answers to one
// prompt, stop strings, log-probabilities. The command line, the server and training use it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "link/generate_request.h"
#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/detokenizer.h"
#include "lm/tokenizer/tokenizer.h"
#include "serving/generator.h"
#include "text/finish.h"

namespace kw::serving {

// A part of one choice. Text and tokens do not go together one by one: a token may end inside a
// character, and text that may begin a stop string is held back.
struct CompletionPart {
  int choice = 0;
  std::string text;
  std::vector<lm::Sample> tokens;
  std::optional<text::Finish> finish;  // of the last part: kStop, kLength or kCancelled
};

class CompletionListener {
 public:
  virtual ~CompletionListener() = default;
  virtual void part(CompletionPart part) = 0;
  virtual void done() = 0;  // all choices have finished; nothing comes after it
};

// The tokens that a request's answers follow on.
Result<std::vector<lm::TokenId>> prompt_tokens(const link::GenerateRequest& request,
                                               const lm::Tokenizer& tokenizer,
                                               const lm::ChatTemplate& chat);

// One thread, that of the generator. Borrows tokenizer and generator.
class Completions {
 public:
  // ends: the model's own (ModelConfig::eos).
  Completions(const lm::Tokenizer& tokenizer, lm::ChatTemplate chat, Generator& generator,
              const std::vector<std::int64_t>& ends);

  using Id = std::uint64_t;
  struct Started {
    Id id = 0;
    std::int64_t prompt_tokens = 0;
  };
  // The listener hears from the next step on, and is borrowed until done(). kInvalidArgument names
  // what is wrong.
  Result<Started> start(const link::GenerateRequest& request, CompletionListener* listener);
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

}  // namespace kw::serving
