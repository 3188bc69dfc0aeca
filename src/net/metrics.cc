// The registry, and the text that Prometheus scrapes.
#include "net/metrics.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace kw::net {
namespace {

bool is_name(std::string_view name) {
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
  };
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), fits);
}

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string label_text(const MetricRegistry::Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    KW_CHECK(is_name(name));
    if (!out.empty()) out += ',';
    out += name;
    out += "=\"";
    out += escaped(value, true);
    out += '"';
  }
  return out;
}

std::string braces(std::string_view labels) {
  return labels.empty() ? "" : fmt::format("{{{}}}", labels);
}

void write_histogram(std::string& out, std::string_view name, std::string_view labels,
                     const Histogram& histogram) {
  Histogram::Snapshot snapshot = histogram.snapshot();
  std::string_view comma = labels.empty() ? "" : ",";
  auto at = std::back_inserter(out);
  for (std::size_t i = 0; i < snapshot.cumulative.size(); ++i) {
    bool last = i == histogram.upper_bounds().size();
    std::string bound = last ? "+Inf" : fmt::format("{}", histogram.upper_bounds()[i]);
    fmt::format_to(at, "{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bound,
                   snapshot.cumulative[i]);
  }
  fmt::format_to(at, "{}_sum{} {}\n", name, braces(labels), snapshot.sum);
  fmt::format_to(at, "{}_count{} {}\n", name, braces(labels), snapshot.cumulative.back());
}

}  // namespace

Histogram::Histogram(std::vector<double> upper_bounds)
    : bounds_(std::move(upper_bounds)), counts_(bounds_.size() + 1) {
  KW_CHECK(std::is_sorted(bounds_.begin(), bounds_.end()));
}

void Histogram::observe(double value) {
  auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Snapshot Histogram::snapshot() const {
  Snapshot out;
  std::uint64_t below = 0;
  for (const auto& count : counts_) {
    below += count.load(std::memory_order_relaxed);
    out.cumulative.push_back(below);
  }
  out.sum = sum_.load(std::memory_order_relaxed);
  return out;
}

std::vector<double> latency_buckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
          1,     2.5,    5,     10,   30,    60,   120, 300,  600};
}

MetricRegistry::Family& MetricRegistry::family(Kind kind, std::string_view name,
                                               std::string_view help) {
  auto found = families_.find(name);
  if (found == families_.end()) {
    KW_CHECK(is_name(name));
    found = families_.emplace(std::string(name), Family{kind, std::string(help), {}, {}}).first;
  }
  KW_CHECK(found->second.kind == kind);
  return found->second;
}

Counter& MetricRegistry::counter(std::string_view name, std::string_view help,
                                 const Labels& labels) {
  std::lock_guard lock(mutex_);
  Metric& metric = family(Kind::kCounter, name, help).metrics[label_text(labels)];
  if (!metric.counter) metric.counter = std::make_unique<Counter>();
  return *metric.counter;
}

Gauge& MetricRegistry::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  std::lock_guard lock(mutex_);
  Metric& metric = family(Kind::kGauge, name, help).metrics[label_text(labels)];
  if (!metric.gauge) metric.gauge = std::make_unique<Gauge>();
  return *metric.gauge;
}

Histogram& MetricRegistry::histogram(std::string_view name, std::string_view help,
                                     const Labels& labels,
                                     const std::vector<double>& upper_bounds) {
  std::lock_guard lock(mutex_);
  Family& all = family(Kind::kHistogram, name, help);
  if (all.metrics.empty()) all.bounds = upper_bounds;
  Metric& metric = all.metrics[label_text(labels)];
  if (!metric.histogram) metric.histogram = std::make_unique<Histogram>(all.bounds);
  return *metric.histogram;
}

std::string MetricRegistry::text() const {
  constexpr std::string_view kKinds[] = {"counter", "gauge", "histogram"};
  std::lock_guard lock(mutex_);
  std::string out;
  auto at = std::back_inserter(out);
  for (const auto& [name, all] : families_) {
    fmt::format_to(at, "# HELP {} {}\n# TYPE {} {}\n", name, escaped(all.help, false), name,
                   kKinds[static_cast<int>(all.kind)]);
    for (const auto& [labels, metric] : all.metrics) {
      if (metric.counter)
        fmt::format_to(at, "{}{} {}\n", name, braces(labels), metric.counter->value());
      if (metric.gauge)
        fmt::format_to(at, "{}{} {}\n", name, braces(labels), metric.gauge->value());
      if (metric.histogram) write_histogram(out, name, labels, *metric.histogram);
    }
  }
  return out;
}

}  // namespace kw::net
