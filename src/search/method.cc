// base, best_of_n, refine (the parent is the attempt that came furthest) and metr (parents among
// the correct ones and the reference, drawn by speedup).
#include "search/method.h"

#include <algorithm>
#include <cmath>

#include "base/present.h"
#include "base/text.h"

namespace kw::search {
namespace {

using runlog::Attempt;
using runlog::kNoParent;
using runlog::kReferenceParent;

// The attempts that are finished when attempt `next` begins, with `parallel` in flight.
int below_window(int next, int parallel) {
  return std::max(0, next - parallel + 1);
}

// Every attempt from the problem's own prompt.
class Independent : public Method {
 public:
  Independent(std::string_view name, int samples) : name_(name), samples_(samples) {}
  std::string_view name() const override { return name_; }
  int visible(int) const override { return 0; }
  Step next_step(const std::vector<const Attempt*>&, int next, Rng&) const override {
    return {.stop = next >= samples_};
  }
  int most_attempts() const override { return samples_; }

 private:
  std::string_view name_;
  int samples_;
};

class Refine : public Method {
 public:
  Refine(int samples, int parallel) : samples_(samples), parallel_(parallel) {}
  std::string_view name() const override { return "refine"; }
  int visible(int next) const override { return below_window(next, parallel_); }
  Step next_step(const std::vector<const Attempt*>& attempts, int next, Rng&) const override {
    if (next >= samples_) return {.stop = true};
    const Attempt* parent = nullptr;
    for (const Attempt* attempt : attempts) {
      if (attempt->abandoned) continue;
      if (parent == nullptr || runlog::further(*attempt, *parent)) parent = attempt;
    }
    // An answer without code has nothing to go on from.
    if (parent == nullptr || parent->progress() == task::Progress::kNothing) return {};
    return {.parent = parent->id};
  }
  int most_attempts() const override { return samples_; }

 private:
  int samples_, parallel_;
};

// METR's resampling of earlier attempts, as facts of its public description have it: first attempts
// from the base prompt, then P(parent = i) = s_i^alpha / sum_j s_j^alpha over the correct ones and
// the reference, whose speedup is 1.
class Metr : public Method {
 public:
  explicit Metr(const MethodOptions& options) : options_(options) {}
  std::string_view name() const override { return "metr"; }
  int visible(int next) const override {
    return next < options_.first ? 0 : below_window(next, options_.parallel);
  }
  Step next_step(const std::vector<const Attempt*>& attempts, int next, Rng& rng) const override {
    if (next >= options_.samples) return {.stop = true};
    if (next < options_.first) return {};
    std::vector<std::pair<int, double>> weights = {{kReferenceParent, 1.0}};
    double total = 1;
    for (const Attempt* attempt : attempts) {
      if (!attempt->correct()) continue;
      double weight = weight_of(*attempt);
      weights.emplace_back(attempt->id, weight);
      total += weight;
    }
    Step step;
    step.draw = rng.uniform();
    double at = *step.draw * total;
    step.parent = weights.back().first;
    for (const auto& [id, weight] : weights) {
      if (at < weight) {
        step.parent = id;
        break;
      }
      at -= weight;
    }
    return step;
  }
  int most_attempts() const override { return options_.samples; }

 private:
  // Untimed ones count as fast as the reference.
  double weight_of(const Attempt& attempt) const {
    const auto& speedup = present(attempt.judged).speedup;
    return speedup ? std::pow(speedup->median, options_.alpha) : 1.0;
  }

  MethodOptions options_;
};

}  // namespace

std::vector<std::string> methods() {
  return {"base", "best_of_n", "refine", "metr"};
}

Result<std::unique_ptr<Method>> make_method(std::string_view method, const MethodOptions& options) {
  if (method == "base") return std::make_unique<Independent>("base", 1);
  if (method == "best_of_n") return std::make_unique<Independent>("best_of_n", options.samples);
  if (method == "refine") return std::make_unique<Refine>(options.samples, options.parallel);
  if (method == "metr") return std::make_unique<Metr>(options);
  std::string hint = nearest(method, methods());
  return fail(
      ErrorCode::kInvalidArgument, "unknown method \"{}\"{}", printable(method, 40),
      hint.empty() ? "; there are " + join(methods(), ", ") : " (did you mean " + hint + "?)");
}

}  // namespace kw::search
