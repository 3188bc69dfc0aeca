// Counters, gauges and histograms in Prometheus' text format, for any part of a server.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw::net {

class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void add(std::int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  void set(std::int64_t n) { value_.store(n, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

class Histogram {
 public:
  explicit Histogram(std::vector<double> upper_bounds);  // ascending
  void observe(double value);

  struct Snapshot {
    std::vector<std::uint64_t> cumulative;  // one per bound, then all
    double sum = 0;
  };
  Snapshot snapshot() const;
  const std::vector<double>& upper_bounds() const { return bounds_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;  // one per bound, then those above
  std::atomic<double> sum_{0};
};

// Seconds from 1 ms to 10 min: answers of a model take that long.
std::vector<double> latency_buckets();

// Owns every metric; references stay valid as long as the registry. All calls are thread-safe, and
// those of a metric take no lock: keep the reference instead of asking for it again. The same name
// and labels give the same metric; a name with two kinds or a malformed name is a bug (KW_CHECK).
// Label values must come from a bounded set (a route's pattern, never a path).
class MetricRegistry {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  Counter& counter(std::string_view name, std::string_view help, const Labels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  // The buckets of a name are those of its first call.
  Histogram& histogram(std::string_view name, std::string_view help, const Labels& labels = {},
                       const std::vector<double>& upper_bounds = latency_buckets());

  // Prometheus text format 0.0.4, sorted by name and labels.
  std::string text() const;

 private:
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Metric {
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
  };
  struct Family {
    Kind kind = Kind::kCounter;
    std::string help;
    std::vector<double> bounds;
    std::map<std::string, Metric> metrics;  // by labels as text: {a="1",b="2"}
  };
  // Called with the lock held; adds what is missing.
  Family& family(Kind kind, std::string_view name, std::string_view help);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
};

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace kw::net
