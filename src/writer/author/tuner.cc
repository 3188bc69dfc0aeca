#include "writer/author/tuner.h"

#include <algorithm>
#include <cstdlib>

namespace kw::writer {
namespace {

// Slower than this much of a kernel that differs in one choice alone: that value is not tried
// again.
constexpr double kWorse = 0.97;

const Tried* fastest(const std::vector<Tried>& tried) {
  const Tried* out = nullptr;
  for (const Tried& one : tried) {
    if (one.correct && one.speedup > 0 && (out == nullptr || one.speedup > out->speedup))
      out = &one;
  }
  return out;
}

int value_of(const Tuning& tuning, const Choice& choice) {
  const auto found = tuning.find(choice.name);
  return found == tuning.end() ? choice.usual : found->second;
}

Tuning with(Tuning tuning, const Choice& choice, int value) {
  tuning.erase(choice.name);
  if (value != choice.usual) tuning.emplace(choice.name, value);
  return tuning;
}

// From the nearest to the farthest.
std::vector<int> others(const Choice& choice, int value) {
  std::vector<int> out = choice.values;
  std::erase(out, value);
  const auto place = [&](int one) {
    return std::lower_bound(choice.values.begin(), choice.values.end(), one) -
           choice.values.begin();
  };
  std::stable_sort(out.begin(), out.end(), [&](int a, int b) {
    return std::abs(place(a) - place(value)) < std::abs(place(b) - place(value));
  });
  return out;
}

// Some pair of kernels that differ in this choice alone says that it is worse than the best's.
bool is_worse(const std::vector<Tried>& tried, const Tried& best, const Choice& choice, int value) {
  const int kept = value_of(best.tuning, choice);
  return std::any_of(tried.begin(), tried.end(), [&](const Tried& a) {
    if (a.strategy != best.strategy || value_of(a.tuning, choice) != value) return false;
    return std::any_of(tried.begin(), tried.end(), [&](const Tried& b) {
      return b.strategy == a.strategy && b.tuning == with(a.tuning, choice, kept) &&
             (!a.correct || a.speedup < kWorse * b.speedup);
    });
  });
}

}  // namespace

Result<Draft> Tuner::draft(std::string_view strategy, const Tuning& tuning) {
  const std::string label = label_of(strategy, tuning);
  const auto found = drafts_.find(label);
  if (found != drafts_.end()) return found->second;
  return drafts_.emplace(label, write_kernel(graph_, signature_, language_, strategy, tuning))
      .first->second;
}

Result<std::optional<Draft>> Tuner::next(const std::vector<Tried>& tried, int skipped) {
  std::set<std::string> sources;
  for (const Tried& one : tried) {
    if (const auto known = draft(one.strategy, one.tuning)) sources.insert(known->source);
  }
  std::optional<Draft> out;
  // Whether it is the one that is wanted.
  const auto take = [&](std::string_view strategy, const Tuning& tuning) {
    auto made = draft(strategy, tuning);
    if (!made || !sources.insert(made->source).second || skipped-- > 0) return false;
    out = std::move(*made);
    return true;
  };
  const auto take_variation = [&](std::string_view strategy, const Tuning& tuning,
                                  const Tried* best) {
    for (const Choice& choice : choices(language_, strategy)) {
      for (const int value : others(choice, value_of(tuning, choice))) {
        if (best != nullptr && is_worse(tried, *best, choice, value)) continue;
        if (take(strategy, with(tuning, choice, value))) return true;
      }
    }
    return false;
  };
  const std::vector<std::string_view> all = strategies(language_);
  // What the writer lacks is the same in every strategy.
  KW_TRY(const Draft first, draft(all.empty() ? "" : all.front(), {}));
  const Tried* best = fastest(tried);
  if (best != nullptr && take_variation(best->strategy, best->tuning, best)) return out;
  for (const std::string_view strategy : all) {
    // The plainest is there to be right, and may take minutes to be timed.
    if (best != nullptr && strategy == all.back()) continue;
    if (take(strategy, {})) return out;
  }
  for (const std::string_view strategy : all) {
    if (best == nullptr && take_variation(strategy, {}, nullptr)) return out;
  }
  return out;
}

}  // namespace kw::writer
