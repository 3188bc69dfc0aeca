// For tests: a server on 127.0.0.1 that answers each request with the bytes it is told, well-formed
// or not, late, in pieces, or with a reset connection. One request a connection.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "os/fd.h"

namespace kw::openai::testing {

struct Received {
  int number = 0;          // of all requests, from 0
  std::string head, body;  // head: with the request line
  Json json() const { return Json::parse(body); }
};

// What is done about one request, in this order.
struct Act {
  Act() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Act(std::string first, bool waits = false, std::string then = "")
      : bytes(std::move(first)), hang(waits), after_hang(std::move(then)) {}

  Act(const char* only) : bytes(only) {}  // NOLINT(google-explicit-constructor)

  std::string bytes;       // sent as they are
  bool hang = false;       // waits until the client or the server goes, or release()
  std::string after_hang;  // sent then
  bool reset = false;      // ends with RST instead of FIN
};
inline Act says(std::string bytes) {
  return {std::move(bytes)};
}

class ScriptedServer {
 public:
  // Called on a thread for each connection.
  using Script = std::function<Act(const Received&)>;
  explicit ScriptedServer(Script script);
  // One act a request, the last one again and again.
  explicit ScriptedServer(std::vector<Act> acts);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const;
  std::uint16_t port() const { return port_; }
  int requests() const { return requests_; }
  std::vector<Received> received() const;
  void release();  // those that hang go on

 private:
  void listen();
  void serve(os::UniqueFd connection);

  Script script_;
  os::UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> requests_ = 0;
  std::atomic<bool> stopping_ = false, released_ = false;
  mutable std::mutex mutex_;
  std::vector<Received> received_;
  std::vector<std::jthread> connections_;
  std::jthread acceptor_;
};

// Bytes of answers.
std::string http(int status, const std::string& body, const std::string& type = "application/json",
                 const std::string& fields = "");
std::string chat_json(const std::string& text, const std::string& finish = "stop");
std::string answer(const std::string& text, const std::string& finish = "stop");  // http(200, ...)
// The head of an event stream without a length: its end is the connection's, unless it is cut by
// reset. Events: data only.
std::string stream_head();
std::string event(const std::string& data);
std::string chunk(const std::string& text, const std::string& finish = "", int index = 0);
std::string usage_chunk(int prompt, int completion);
std::string streamed(const std::vector<std::string>& texts);  // whole, with usage and [DONE]

}  // namespace kw::openai::testing
