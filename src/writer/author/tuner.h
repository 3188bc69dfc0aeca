// Tuner: says which of a graph's kernels to judge next, from the kernels judged so far.
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

// Climbs from the fastest kernel to kernels that differ from it in one choice. The other strategies
// follow when no such kernel is left, or when no kernel is right yet. The plainest strategy is
// tried only while no kernel is right. No two of its kernels have the same source. Only one thread
// may use it at a time.
class Tuner {
 public:
  Tuner(Graph graph, task::Signature signature, task::Language language)
      : graph_(std::move(graph)), signature_(std::move(signature)), language_(language) {}

  // Returns the kernel after `skipped` others, which are being judged; nullopt when there are no
  // more. The result depends on the arguments alone. Errors are those of write_kernel() for the
  // first strategy.
  Result<std::optional<Draft>> next(const std::vector<Tried>& tried, int skipped);

 private:
  Result<Draft> draft(std::string_view strategy, const Tuning& tuning);

  const Graph graph_;
  const task::Signature signature_;
  const task::Language language_;
  std::map<std::string, Result<Draft>> drafts_;  // the key is the label
};

}  // namespace kw::writer
