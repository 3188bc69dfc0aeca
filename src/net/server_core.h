// Private: what all connections of a server share, and what those of one io thread share.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "net/address_counts.h"
#include "net/handler_pool.h"
#include "net/server.h"
#include "net/tls.h"

namespace kw::net {

class Connection;

// What one answered request leaves in metrics and log.
struct AccessRecord {
  std::string peer, method, path, route;
  int status = 0;
  std::size_t sent_bytes = 0;
  std::chrono::steady_clock::duration duration{};
};

// Counts the requests from their header to the end of their answer. Thread-safe.
class RunningRequests {
 public:
  void begin();
  void end();
  bool wait_for_none(std::chrono::milliseconds at_most);

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

struct ServerCore {
  ServerCore(ServerOptions o, Router r, TlsContext t);

  // New connections get it, and each keeps its own; nullptr: they are plaintext. Any thread.
  TlsContext tls() const;
  void renew_tls(TlsContext renewed);

  ServerOptions options;
  Router router;
  std::atomic<bool> draining{false};
  AddressCounts addresses;
  std::atomic<std::size_t> refused_open{0};  // connections that are being told so
  std::atomic<std::size_t> body_bytes{0};    // of requests that are read or being answered
  RunningRequests running;
  HandlerPool handlers;

  MetricRegistry own_metrics;  // when the user has none
  MetricRegistry& metrics;
  Gauge& open_connections;
  Gauge& running_requests;
  Counter& accepted;
  Counter& received_bytes;
  Counter& sent_bytes;
  void count_refused(std::string_view reason);

 private:
  mutable std::mutex tls_mutex_;
  TlsContext tls_;
};

// One io thread and its connections. Everything but post() to `io` belongs to that thread.
class IoLoop {
 public:
  explicit IoLoop(ServerCore& core);

  boost::asio::io_context io{1};
  std::set<std::shared_ptr<Connection>> connections;

  void start();
  // From another thread: cuts all connections, and returns when the thread has ended.
  void stop();

  // Runs the task soon, a few such in a turn: thousands of connections whose time is over at once
  // do not keep the others waiting.
  void when_free(std::function<void()> task);

  void record(const AccessRecord& record);
  const std::string& date();  // now, for the field Date

 private:
  void run_some();

  std::deque<std::function<void()>> waiting_;  // run_some() is posted while there are some
  ServerCore& core_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
  std::time_t date_time_ = 0;
  std::string date_;
  // The registry's references, found without its lock: by route, method and status.
  std::map<std::tuple<std::string, std::string, int>, Counter*> requests_;
  std::map<std::string, Histogram*> seconds_;
};

}  // namespace kw::net
