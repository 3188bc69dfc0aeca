// Policy: sees the tree of attempts and says what to do next. Policies hold no state and draw from
// the generator that they are given, keyed by (seed, problem, attempt): a run replays.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "runlog/tree.h"

namespace kw::search {

struct PolicyOptions {
  int samples = 8;   // attempts of a problem at most
  int parallel = 1;  // attempts of a problem in flight
  int first = 4;     // metr: attempts from the problem's own prompt before parents are drawn
  double alpha = 1;  // metr: parents are drawn with probability proportional to speedup^alpha
};

struct Step {
  bool stop = false;  // no further attempt
  int parent = runlog::kNoParent;
  std::optional<double> draw = std::nullopt;  // that chose the parent
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  // Attempts whose results the decision about attempt `next` may use: those below. They are
  // finished when next_step is called. Below or equal to next.
  virtual int visible(int next) const = 0;
  // attempts: the visible ones, in order.
  virtual Step next_step(const std::vector<const runlog::Attempt*>& attempts, int next,
                         Rng& rng) const = 0;
  virtual int most_attempts() const = 0;
};

// base, best_of_n, refine, metr. kInvalidArgument with a suggestion.
Result<std::unique_ptr<Policy>> make_policy(std::string_view method, const PolicyOptions& options);
std::vector<std::string> methods();

}  // namespace kw::search
