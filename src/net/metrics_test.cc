// The text that Prometheus reads, and counting from many threads.
#include "net/metrics.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::net {
namespace {

TEST(Metrics, Text) {
  MetricRegistry registry;
  registry.counter("kw_b_total", "Things.", {{"route", "/a\"b\\c\nd"}}).add(3);
  registry.counter("kw_b_total", "Things.", {{"route", "/"}}).add();
  registry.gauge("kw_a", "Level\nnow.").set(-2);
  Histogram& seconds = registry.histogram("kw_c_seconds", "Time.", {{"x", "1"}}, {0.5, 1});
  seconds.observe(0.5);
  seconds.observe(0.75);
  seconds.observe(2);
  EXPECT_EQ(registry.text(), R"(# HELP kw_a Level\nnow.
# TYPE kw_a gauge
kw_a -2
# HELP kw_b_total Things.
# TYPE kw_b_total counter
kw_b_total{route="/"} 1
kw_b_total{route="/a\"b\\c\nd"} 3
# HELP kw_c_seconds Time.
# TYPE kw_c_seconds histogram
kw_c_seconds_bucket{x="1",le="0.5"} 1
kw_c_seconds_bucket{x="1",le="1"} 2
kw_c_seconds_bucket{x="1",le="+Inf"} 3
kw_c_seconds_sum{x="1"} 3.25
kw_c_seconds_count{x="1"} 3
)");
}

TEST(Metrics, ManyThreads) {
  MetricRegistry registry;
  constexpr int kThreads = 4;
  constexpr int kTimes = 1000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kTimes; ++i) {
          registry.counter("n_total", "").add();
          registry.histogram("s", "").observe(0.01);
          if (i % 100 == 0) {
            EXPECT_FALSE(registry.text().empty());
          }
        }
      });
    }
  }
  EXPECT_EQ(registry.counter("n_total", "").value(), kThreads * kTimes);
  EXPECT_EQ(registry.histogram("s", "").snapshot().cumulative.back(), kThreads * kTimes);
}

TEST(MetricsDeathTest, OneNameOneKind) {
  MetricRegistry registry;
  registry.counter("n", "");
  EXPECT_DEATH(registry.gauge("n", ""), "kind");
  EXPECT_DEATH(registry.gauge("a b", ""), "is_name");
}

}  // namespace
}  // namespace kw::net
