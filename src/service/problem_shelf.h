// ProblemShelf: the problems and the baseline candidates that a server knows, so that each is sent
// and stored once. Those of tasks under way are kept; of the others the ones that were wanted last.
// A problem's key is its hash, that of a baseline baseline_key().
#pragma once
#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kw::service {

std::string baseline_key(const std::string& hash);
// "problem 0123...", for people.
std::string name_of_part(const std::string& key);

struct ShelfLimits {  // of what no task under way has
  std::size_t most_idle = 1000;
  std::size_t most_idle_bytes = std::size_t{256} << 20U;
};

// One caller at a time. A text is the JSON of a problem or a candidate.
class ProblemShelf {
 public:
  explicit ProblemShelf(ShelfLimits limits) : limits_(limits) {}

  // A problem that is there already is as good as new, and its text stays.
  void put(const std::string& hash, std::string text);
  // nullptr: not there. Until the next call.
  const std::string* find(const std::string& hash);
  bool contains(const std::string& hash) const { return known_.contains(hash); }
  // A task that has the problem begins and ends. The problem must be there.
  void hold(const std::string& hash);
  void let_go(const std::string& hash);
  std::size_t held_bytes() const { return held_bytes_; }

  struct Changes {
    std::vector<std::pair<std::string, std::string>> added = {};  // hash and text
    std::vector<std::string> forgotten = {};
  };
  // Returns what has to be stored since the last call, and forgets problems over the limits.
  Changes take_changes();
  // Takes what is stored already, which is no change.
  void restore(const std::string& hash, std::string text);

 private:
  struct Known {
    std::string text;
    std::size_t holders = 0;
    std::list<std::string>::iterator idle = {};  // without holders: its place in idle_
  };
  void begin_idle(Known& known, const std::string& hash);
  void end_idle(Known& known);

  const ShelfLimits limits_;
  std::unordered_map<std::string, Known> known_;
  std::list<std::string> idle_;  // the one that was wanted longest ago is the first
  std::size_t idle_bytes_ = 0, held_bytes_ = 0;
  std::vector<std::string> added_;
};

}  // namespace kw::service
