// World: the clock, the random numbers, the order of events and the network of a simulation. The
// same seed gives the same events.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "service/task_table.h"

namespace kw::service::simulation {

using std::chrono::milliseconds;
using Time = TaskTable::Time;

// How rough a run is; chances are in a thousand.
struct Weather {
  unsigned lost = 0, repeated = 0, delayed = 0;  // messages
  unsigned crash = 0;                            // of the server at a commit
  unsigned slow_disk = 0, full_disk = 0;         // at a commit
  unsigned pause = 0;                            // of the server, its clock included, at an event
  unsigned death = 0, freeze = 0;                // of a worker at a judgement
  unsigned infrastructure = 0;                   // a judgement that fails by ours
};

// One thread.
class World {
 public:
  World(std::uint64_t seed, bool keeps_trace) : random(seed), keeps_trace_(keeps_trace) {}

  void after(milliseconds delay, std::function<void()> event) {
    events_.emplace(std::pair(now + delay, next_event_++), std::move(event));
  }
  // Runs the next event; false: there is none.
  bool step() {
    if (events_.empty()) return false;
    auto first = events_.extract(events_.begin());
    now = first.key().first;
    first.mapped()();
    return true;
  }

  std::uint64_t below(std::uint64_t n) { return random() % n; }
  bool chance(unsigned of_thousand) { return below(1000) < of_thousand; }
  milliseconds between(std::int64_t least, std::int64_t most) {
    return milliseconds(
        least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least + 1))));
  }
  // How long a message is under way.
  milliseconds way() {
    if (weather.delayed > 0 && chance(weather.delayed)) return between(100, 20000);
    return between(1, 20);
  }

  template <typename... Values>
  void trace(fmt::format_string<Values...> text, Values&&... values) {
    if (!keeps_trace_) return;
    const auto at = std::chrono::duration_cast<milliseconds>(now.time_since_epoch());
    trace_.push_back(fmt::format("{:>9} ms  ", at.count()) +
                     fmt::format(text, std::forward<Values>(values)...));
  }
  const std::vector<std::string>& events() const { return trace_; }

  std::mt19937_64 random;
  Time now{std::chrono::seconds(1000)};
  Weather weather;

 private:
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t next_event_ = 0;
  bool keeps_trace_;
  std::vector<std::string> trace_;
};

}  // namespace kw::service::simulation
