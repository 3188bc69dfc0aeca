// Method: sees the tree of attempts and says what to do next. Methods hold no state and draw from
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

struct MethodOptions {
  int samples = 8;   // attempts of a problem at most
  int parallel = 1;  // attempts of a problem in flight
  int first = 4;     // metr: attempts from the problem's own prompt before parents are drawn
  double alpha = 1;  // metr: parents are drawn with probability proportional to speedup^alpha
};

struct Step {
  bool stop = false;  // true: no further attempt begins
  int parent = runlog::kNoParent;
  std::optional<double> draw = std::nullopt;  // the random number that chose the parent
};

class Method {
 public:
  virtual ~Method() = default;
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
Result<std::unique_ptr<Method>> make_method(std::string_view method, const MethodOptions& options);
std::vector<std::string> methods();

}  // namespace kw::search
