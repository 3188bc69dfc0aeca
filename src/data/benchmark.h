// Finds samples that show a benchmark's problems, so that a model that is trained on the rest can
// be judged by it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "data/sample.h"
#include "task/problem.h"
#include "writer/graph/graph.h"

namespace kw::data {

// add() everything, then finish(), then match() from any thread.
class Benchmark {
 public:
  // overlap: share of a problem's own shingles (of kShingle tokens) that a sample must show.
  explicit Benchmark(double overlap) : overlap_(overlap) {}

  // graph: of the problem on its sizes; nullptr: not known.
  void add(const task::Problem& problem, const writer::Graph* graph);
  // A problem's own shingles come from the bodies of its methods. Shingles of more than a tenth of
  // the problems (and of more than two) do not count.
  void finish();

  enum class Rule { kSource, kGraph, kShingles };
  struct Match {
    Rule rule = Rule::kSource;
    std::string problem;
    double overlap = 1;
  };
  // Compares the problem's source without names, comments and layout; its operator graph with
  // sizes; and the shingles of its source and of all code in the messages. Problems with fewer than
  // kFewestShingles of their own are found by the first two rules only.
  std::optional<Match> match(const Sample& sample) const;

  std::size_t size() const { return problems_.size(); }
  std::size_t without_graph() const { return without_graph_; }
  std::size_t without_shingles() const { return without_shingles_; }

 private:
  struct Known {
    std::string name;
    std::vector<std::uint64_t> shingles;
  };

  double overlap_;
  std::vector<Known> problems_;
  std::unordered_map<std::string, std::uint32_t> sources_, graphs_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_shingle_;
  std::size_t without_graph_ = 0, without_shingles_ = 0;
};
inline constexpr std::size_t kFewestShingles = 8;
std::string_view to_string(Benchmark::Rule rule);  // "source", "graph", "shingles"

}  // namespace kw::data
