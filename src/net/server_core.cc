// Metrics, access log and the io threads.
#include "net/server_core.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "net/connection.h"
#include "net/response_text.h"

namespace kw::net {
namespace {

constexpr std::size_t kMaxLoggedPath = 200;

// Methods are the client's to choose; label values must come from a bounded set.
std::string method_label(const std::string& method) {
  constexpr std::array<std::string_view, 7> kKnown = {"GET",   "HEAD",   "POST",   "PUT",
                                                      "PATCH", "DELETE", "OPTIONS"};
  bool known = std::find(kKnown.begin(), kKnown.end(), method) != kKnown.end();
  return known ? method : "other";
}

std::string for_log(std::string_view text) {
  std::string out = printable(text, kMaxLoggedPath);
  for (char& c : out) {
    if (c == '\n' || c == '\t' || c == '"') c = '?';
  }
  return '"' + out + '"';
}

}  // namespace

void RunningRequests::begin() {
  std::lock_guard lock(mutex_);
  ++count_;
}

void RunningRequests::end() {
  std::lock_guard lock(mutex_);
  if (--count_ == 0) none_.notify_all();
}

bool RunningRequests::wait_for_none(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return none_.wait_for(lock, at_most, [&] { return count_ == 0; });
}

ServerCore::ServerCore(ServerOptions o, Router r, TlsContext t)
    : options(std::move(o)),
      router(std::move(r)),
      addresses(options.limits),
      handlers(options.handler_threads, options.waiting_requests),
      metrics(options.metrics != nullptr ? *options.metrics : own_metrics),
      open_connections(metrics.gauge("kw_http_connections_open", "Open connections.")),
      running_requests(metrics.gauge("kw_http_requests_running",
                                     "Requests between their header and their answer's end.")),
      accepted(metrics.counter("kw_http_connections_total", "Accepted connections.")),
      received_bytes(metrics.counter("kw_http_received_bytes_total", "Bytes received.")),
      sent_bytes(metrics.counter("kw_http_sent_bytes_total", "Bytes sent.")),
      tls_(std::move(t)) {}

TlsContext ServerCore::tls() const {
  std::lock_guard lock(tls_mutex_);
  return tls_;
}

void ServerCore::renew_tls(TlsContext renewed) {
  std::lock_guard lock(tls_mutex_);
  tls_ = std::move(renewed);
}

void ServerCore::count_refused(std::string_view reason) {
  metrics
      .counter("kw_http_connections_refused_total", "Connections over a limit.",
               {{"reason", std::string(reason)}})
      .add();
}

IoLoop::IoLoop(ServerCore& core) : core_(core), work_(io.get_executor()) {}

void IoLoop::start() {
  thread_ = std::thread([this] {
    for (bool again = true; again;) {
      try {
        io.run();
        again = false;
      } catch (const std::exception& e) {
        // Out of memory, or a user's log or gate: that connection ends at its deadline.
        log::error(fmt::format("http: an io thread caught: {}", e.what()));
      }
    }
  });
}

void IoLoop::stop() {
  boost::asio::post(io, [this] {
    for (const auto& connection : std::vector(connections.begin(), connections.end()))
      connection->cut();
    work_.reset();
  });
  thread_.join();
}

void IoLoop::when_free(std::function<void()> task) {
  waiting_.push_back(std::move(task));
  if (waiting_.size() == 1) boost::asio::post(io, [this] { run_some(); });
}

// What came to other connections meanwhile is seen between two turns.
void IoLoop::run_some() {
  constexpr int kAtOnce = 8;
  for (int i = 0; i < kAtOnce && !waiting_.empty(); ++i) {
    const std::function<void()> task = std::move(waiting_.front());
    waiting_.front() = nullptr;
    task();
    waiting_.pop_front();
  }
  if (!waiting_.empty()) boost::asio::post(io, [this] { run_some(); });
}

const std::string& IoLoop::date() {
  std::time_t now = std::time(nullptr);
  if (now != date_time_) {
    date_time_ = now;
    date_ = http_date(now);
  }
  return date_;
}

void IoLoop::record(const AccessRecord& record) {
  std::string route = record.route.empty() ? "none" : record.route;
  std::string method = method_label(record.method);
  Counter*& requests = requests_[{route, method, record.status}];
  if (requests == nullptr)
    requests = &core_.metrics.counter(
        "kw_http_requests_total", "Answered requests; 499: the client left before the answer.",
        {{"route", route}, {"method", method}, {"status", std::to_string(record.status)}});
  requests->add();
  Histogram*& seconds = seconds_[route];
  if (seconds == nullptr)
    seconds = &core_.metrics.histogram("kw_http_request_seconds",
                                       "From a request's header to its answer's end.",
                                       {{"route", route}});
  seconds->observe(std::chrono::duration<double>(record.duration).count());
  std::string line =
      fmt::format("http: {} {} {} {} {} B {:.3f} ms", record.peer, for_log(record.method),
                  for_log(record.path), record.status, record.sent_bytes,
                  std::chrono::duration<double, std::milli>(record.duration).count());
  if (core_.options.access_log) {
    core_.options.access_log(line);
  } else {
    log::info(line);
  }
}

}  // namespace kw::net
