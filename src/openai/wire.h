// One attempt: sends a body, reads what comes, and says which outcome it is. Knows nothing of
// retries and money.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/client.h"
#include "openai/attempt.h"
#include "openai/chat_client.h"
#include "openai/chat_format.h"
#include "openai/endpoint.h"

namespace kw::openai {

struct Reply {
  Outcome outcome = Outcome::kAnswered;
  int http_status = 0;
  std::string message;               // of a failure, printable, without the key
  std::string partial;               // text that came before a cut
  std::size_t received_bytes = 0;    // of text and reasoning, when it is no answer
  bool computed = false;             // the server may have computed an answer, and ask money for it
  AnswerParts parts;                 // with kAnswered
  std::optional<text::Usage> usage;  // what was told, with a failure too; without its cost
  std::string id, request_id;
  std::optional<std::chrono::seconds> retry_after;
};

// Any thread.
class Wire {
 public:
  static Result<std::unique_ptr<Wire>> make(const ChatSettings& settings);

  // within: what is left until the deadline; shorter than Timeouts::attempt it replaces that.
  Reply chat(const std::string& body, std::chrono::milliseconds within,
             const std::stop_token& stop) const;
  Result<std::vector<std::string>> models(const std::stop_token& stop) const;

  const Endpoint& endpoint() const { return endpoint_; }  // where the server was at first
  // Text of a server for messages: printable, cut, the key replaced.
  std::string clean(std::string_view text) const;

 private:
  // The server where it was last found.
  struct Reached {
    ServerPlace place;
    Endpoint endpoint;
    std::unique_ptr<net::Client> http;
  };
  using ReachedPtr = std::shared_ptr<const Reached>;

  explicit Wire(ChatSettings settings) : settings_(std::move(settings)) {}
  Result<ReachedPtr> reach(ServerPlace place) const;
  ReachedPtr reached() const;
  bool has_moved(const ReachedPtr& from) const;
  std::string scrubbed(std::string_view text) const;
  net::ClientRequest request(const std::string& method, const std::string& url,
                             std::chrono::milliseconds within, const std::stop_token& stop) const;

  const ChatSettings settings_;
  Endpoint endpoint_;
  std::string key_;  // "": none
  mutable std::mutex mutex_;
  mutable ReachedPtr reached_;  // under mutex_
};

}  // namespace kw::openai
