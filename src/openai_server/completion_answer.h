// One HTTP call under way: parts of the model service in, an answer or events out.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "link/model_client.h"
#include "net/metrics.h"
#include "net/responder.h"
#include "openai_server/answer_format.h"

namespace kw::openai_server {

// How many sequences may be in the engine, in slots or waiting. Any thread.
class Admission {
 public:
  explicit Admission(std::int64_t most) : most_(most) {}
  bool take(std::int64_t sequences);
  void give_back(std::int64_t sequences) { taken_ -= sequences; }
  std::int64_t most() const { return most_; }

 private:
  const std::int64_t most_;
  std::atomic<std::int64_t> taken_{0};
};

// What all answers share, and what outlives them.
struct Serving {
  Admission admission;
  std::function<std::chrono::steady_clock::time_point()> now;
  net::Histogram& first_part_seconds;
  net::Counter& slow_readers;
  net::Counter& stopped;    // answers that ended by themselves
  net::Counter& cut;        // by max_tokens or the context
  net::Counter& cancelled;  // by a client that left, or the server's end
  net::Counter& failed;     // calls
};

// Theory of operation: made by a handler, then used by the model client's thread alone, which calls
// it through a listener for each prompt; the last of these takes it along. That thread writes to
// the client's stream without waiting: a reader whose send buffer is full is cut off, and its slots
// are free. One stop source ends all prompts, be it the client's leaving or a failure here.
class CompletionAnswer {
 public:
  // The sequences of the call have been taken from serving.admission; they are given back at the
  // end.
  static void start(CompletionCall call, AnswerHead head, net::Responder responder,
                    Serving& serving, link::ModelClient& client);
  CompletionAnswer(const CompletionCall& call, AnswerHead head, net::Responder responder,
                   Serving& serving);
  ~CompletionAnswer() { serving_.admission.give_back(sequences_); }
  CompletionAnswer(const CompletionAnswer&) = delete;
  CompletionAnswer& operator=(const CompletionAnswer&) = delete;

 private:
  class Prompt;
  void accepted(std::int64_t prompt_tokens);
  void part(std::size_t prompt, link::Part part);
  void done(std::int64_t sampled_tokens);
  void fail(const ApiFailure& failure);

  void open_stream();
  void take(ChoiceText piece);
  void count(text::Finish finish);
  void write(std::string_view data);
  void complete();

  const AnswerHead head_;
  const bool stream_wanted_, with_usage_, with_token_ids_, with_logprobs_;
  const std::int64_t n_, sequences_;
  const std::size_t prompts_;
  Serving& serving_;
  const std::chrono::steady_clock::time_point begin_;

  std::optional<net::Responder> responder_;    // until an answer or a stream is begun
  std::optional<net::ResponseStream> stream_;  // as long as somebody reads it
  std::vector<ChoiceText> choices_;            // of an answer as a whole; a stream's offsets
  std::vector<ChoiceText> early_;              // of a stream that is not open yet
  std::size_t accepted_ = 0, done_ = 0;        // prompts
  text::Usage usage_;
  bool any_part_ = false, ended_ = false;
  std::stop_source stop_;
  std::optional<std::stop_callback<std::function<void()>>> on_leave_;
};

}  // namespace kw::openai_server
