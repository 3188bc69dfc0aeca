// A client of any server with OpenAI's chat completion API (docs/openai_client.md).
//
// Theory of operation: complete() runs on its caller's thread. It reserves the request's worst case
// in the budget, then tries: take a slot, wait for the rates' turn, send, read. An attempt that
// failed in a way that may pass is repeated after Retry-After or a jittered delay, as long as
// tries and deadline allow. What an attempt cost is booked when it ends, whatever its end. Only an
// attempt that is read whole answers, and it ends the request: no answer is given twice.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/result.h"
#include "openai/attempt.h"
#include "openai/chat.h"
#include "openai/clock.h"
#include "openai/ledger.h"

namespace kw::openai {

// US dollars for a million tokens. In another currency, all costs are in that.
struct Prices {
  double prompt = 0, completion = 0;
  std::optional<double> cached_prompt;  // none: as prompt
};

// Tokens of a request are estimated before, prompt and max_tokens of every choice, and put right
// by what the server tells.
struct Rates {
  double requests_per_minute = 0, tokens_per_minute = 0;  // 0: no limit
  std::chrono::seconds burst{10};  // the share of a minute that may be used at once
};

// 0: none. A request whose worst case does not fit is refused, so what is spent stays below, but
// for estimates that were too low.
struct Budget {
  double cost = 0;
  std::int64_t tokens = 0;  // of prompts and completions
  // Of it before this client was made: in a run that is gone on with.
  double spent_cost = 0;
  std::int64_t spent_tokens = 0;
};

struct Timeouts {
  std::chrono::milliseconds connect{10000};
  std::chrono::milliseconds idle{120000};  // between two events of a stream, and before the first
  std::chrono::milliseconds attempt{600000};    // all of one attempt
  std::chrono::milliseconds deadline{1800000};  // all of a request, unless it has its own
};

// A server listens here, and may come back elsewhere.
struct ServerPlace {
  std::string base_url = {};  // as in ChatSettings
  std::string ca_text = {};   // PEM, trusted for this server alone; empty: as ca_file says
  bool operator==(const ServerPlace&) const = default;
};

struct ChatSettings {
  std::string base_url;              // "http://host:8000", with or without "/v1"
  std::string key_env;               // the environment's variable with the key; "": none is sent
  bool allow_plaintext_key = false;  // send it over http to others than this machine
  std::filesystem::path ca_file;     // PEM; empty: the system's
  // It says where the server is now, and is asked, from any thread, when the server cannot be
  // reached or is not trusted; base_url is where it is at first. Empty: it stays where it is.
  std::function<Result<ServerPlace>()> find = {};
  std::string ca_text;  // of ServerPlace, with base_url
  Rates rates;
  // It is a request's. A delay is drawn between 0 and the policy's, which max_delay always limits.
  RetryPolicy retries{.tries = 6,
                      .first_delay = std::chrono::milliseconds(500),
                      .max_delay = std::chrono::seconds(30)};
  int malformed_tries = 3;  // of these, with answers that cannot be read
  std::uint64_t jitter_seed = 0;
  Timeouts timeouts;
  Budget budget;
  Prices prices;
  int concurrency = 32;  // requests on the wire
  // A second attempt beside the first when that has not answered by then; the first answer is
  // taken, both are paid. none: never.
  std::optional<std::chrono::milliseconds> hedge_after;
  bool max_completion_tokens = false;  // send max_tokens under OpenAI's newer name
  std::size_t max_answer_bytes = std::size_t{64} << 20U;
  // Every attempt, when it has ended, on the thread that made it; must be short and not call back.
  std::function<void(const Attempt&)> on_attempt;
  Clock* clock = nullptr;  // must outlive the client; nullptr: system_clock()
};

// Any number of threads may call; moving and destroying need that none does.
// Errors of complete() and models() begin with the host, and say what came and how often it was
// tried; the server's own message is in them, the key never is:
//   kInvalidArgument   the request cannot be sent, or 400, 422 and the like; a redirect
//   kPermissionDenied  401, 403, or the certificate is not trusted
//   kNotFound          404: mostly the model's name
//   kResourceExhausted the budget has no room for it; the answer is over max_answer_bytes
//   kDeadlineExceeded  the deadline, or a wait that would go beyond it
//   kUnavailable       what may pass did not within the tries
//   kCancelled         the stop token
class ChatClient {
 public:
  // kInvalidArgument names the setting: a URL that is none, a variable that is not set, a key that
  // cannot be sent, ranges.
  static Result<ChatClient> make(ChatSettings settings);
  ChatClient(ChatClient&&) noexcept;
  ChatClient& operator=(ChatClient&&) noexcept;
  ~ChatClient();

  // Blocks until there is an answer, or none is to be had.
  Result<ChatAnswer> complete(const ChatRequest& request, const std::stop_token& stop = {});
  // Names of the models that the server lists. One attempt, not in the counts.
  Result<std::vector<std::string>> models(const std::stop_token& stop = {});

  Counts counts() const;
  const std::string& endpoint() const;  // the URL that chats are sent to

 private:
  struct Impl;
  explicit ChatClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw::openai
