// For tests: a server with the routes that most tests need, and gates to order what threads do.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "net/server.h"

namespace kw::net::testing {

// Hands values from one thread to another; take() waits.
template <typename T>
class Channel {
 public:
  void put(T value) {
    std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    change_.notify_all();
  }
  T take() {
    std::unique_lock lock(mutex_);
    KW_CHECK(change_.wait_for(lock, std::chrono::seconds(30), [&] { return !values_.empty(); }));
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  std::deque<T> values_;
};

// GET /hello: "hello". POST /echo: the body. GET /wait: its Responder goes to `waiting`.
// POST /wait: the same. GET /throw: throws.
inline Router usual_routes(Channel<Responder>& waiting) {
  Router router;
  router.add("GET", "/hello", [](const Request&, Responder responder) {
    Response response;
    response.headers.add("Content-Type", "text/plain");
    response.body = "hello";
    responder.send(std::move(response));
  });
  router.add("POST", "/echo", [](Request request, Responder responder) {
    Response response;
    response.body = std::move(request.body);
    responder.send(std::move(response));
  });
  auto wait = [&waiting](const Request&, Responder responder) {
    waiting.put(std::move(responder));
  };
  router.add("GET", "/wait", wait);
  router.add("POST", "/wait", wait);
  router.add("GET", "/throw", [](const Request&, Responder) { throw std::runtime_error("oh no"); });
  return router;
}

inline std::unique_ptr<Server> start(ServerOptions options, Router router) {
  auto server = Server::start(std::move(options), std::move(router));
  if (!server) check_failed(__FILE__, __LINE__, server.error().message().c_str());
  return std::move(*server);
}

}  // namespace kw::net::testing
