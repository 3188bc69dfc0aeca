// Tuner: which of a graph's kernels to judge next, from what was judged so far.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "writer/author/author.h"

namespace kw::writer {

struct Tried {
  std::string strategy;
  Tuning tuning;
  bool correct = false;
  double speedup = 0;  // 0: not timed
};

// Climbs from the fastest kernel to the next ones that differ from it in one choice; the other
// strategies come when there are none left, or when no kernel is right yet, the plainest then
// alone. No two of its kernels have the same source. One thread at a time.
class Tuner {
 public:
  Tuner(Graph graph, task::Signature signature, task::Language language)
      : graph_(std::move(graph)), signature_(std::move(signature)), language_(language) {}

  // The kernel after `skipped` others, which are being judged; nullopt: there is none. The answer
  // depends on the arguments alone. Errors are write_kernel()'s, of the first strategy.
  Result<std::optional<Draft>> next(const std::vector<Tried>& tried, int skipped);

 private:
  Result<Draft> draft(std::string_view strategy, const Tuning& tuning);

  const Graph graph_;
  const task::Signature signature_;
  const task::Language language_;
  std::map<std::string, Result<Draft>> drafts_;  // by label
};

}  // namespace kw::writer
