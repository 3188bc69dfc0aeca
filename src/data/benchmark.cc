#include "data/benchmark.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "data/features.h"
#include "data/graph_labels.h"

namespace kw::data {
namespace {

std::vector<std::string> source_tokens(const task::Problem& problem) {
  return normalised(problem.is_module() ? problem.module().source : problem.definition().reference,
                    Syntax::kPython);
}

// A module's own shingles are those of its methods. Class heads, the start of __init__, get_inputs
// and get_init_inputs belong to the form. A definition's are those of all its text.
std::vector<std::uint64_t> own_shingles(const task::Problem& problem) {
  const std::vector<std::string> tokens = source_tokens(problem);
  if (!problem.is_module()) return shingles(tokens, kShingle);
  const std::vector<Token> words = tokens_of(problem.module().source, Syntax::kPython);
  std::vector<std::uint64_t> out;
  std::vector<std::string> part;
  const auto end_part = [&] {
    if (part.size() >= kShingle) {
      const auto of_part = shingles(part, kShingle);
      out.insert(out.end(), of_part.begin(), of_part.end());
    }
    part.clear();
  };
  bool inside = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i].text,
                           next = i + 1 < words.size() ? words[i + 1].text : "";
    if (word == "class" || word == "def") {
      end_part();
      inside =
          word == "def" && next != "__init__" && next != "get_inputs" && next != "get_init_inputs";
    }
    if (inside) part.push_back(tokens[i]);
    // super().__init__() ends the form's part of a constructor.
    if (word == "__init__" && i > 0 && words[i - 1].text == ".") inside = true;
  }
  end_part();
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

std::string_view to_string(Benchmark::Rule rule) {
  switch (rule) {
    case Benchmark::Rule::kSource:
      return "source";
    case Benchmark::Rule::kGraph:
      return "graph";
    case Benchmark::Rule::kShingles:
      return "shingles";
  }
  return "?";
}

void Benchmark::add(const task::Problem& problem, const writer::Graph* graph) {
  const auto index = static_cast<std::uint32_t>(problems_.size());
  const std::vector<std::string> tokens = source_tokens(problem);
  sources_.emplace(normalised_digest(tokens), index);
  if (graph == nullptr) {
    ++without_graph_;
  } else {
    graphs_.emplace(graph_digest(*graph), index);
  }
  problems_.push_back({problem.name, own_shingles(problem)});
}

void Benchmark::finish() {
  std::unordered_map<std::uint64_t, std::size_t> uses;
  for (const Known& problem : problems_) {
    for (std::uint64_t shingle : problem.shingles) ++uses[shingle];
  }
  const std::size_t most = std::max<std::size_t>(problems_.size() / 10, 2);
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    auto& own = problems_[i].shingles;
    std::erase_if(own, [&](std::uint64_t shingle) { return uses[shingle] > most; });
    if (own.size() < kFewestShingles) {
      own.clear();
      ++without_shingles_;
    }
    for (std::uint64_t shingle : own) by_shingle_[shingle].push_back(static_cast<std::uint32_t>(i));
  }
}

std::optional<Benchmark::Match> Benchmark::match(const Sample& sample) const {
  const std::vector<std::string> problem = problem_tokens(sample);
  if (auto found = sources_.find(normalised_digest(problem)); found != sources_.end())
    return Match{Rule::kSource, problems_[found->second].name, 1};
  if (!sample.labels.graph.empty()) {
    if (auto found = graphs_.find(sample.labels.graph); found != graphs_.end())
      return Match{Rule::kGraph, problems_[found->second].name, 1};
  }
  std::unordered_set<std::uint64_t> seen;
  std::unordered_map<std::uint32_t, std::size_t> shared;
  const auto look = [&](const std::vector<std::string>& tokens) {
    for (std::uint64_t shingle : shingles(tokens, kShingle)) {
      auto found = by_shingle_.find(shingle);
      if (found == by_shingle_.end() || !seen.insert(shingle).second) continue;
      for (std::uint32_t index : found->second) ++shared[index];
    }
  };
  look(problem);
  for (const text::ChatMessage& message : sample.messages)
    look(text_tokens(message.content, "python"));
  std::optional<Match> best;
  for (const auto& [index, count] : shared) {
    const double share =
        static_cast<double>(count) / static_cast<double>(problems_[index].shingles.size());
    const bool better = !best || share > best->overlap ||
                        (share == best->overlap && problems_[index].name < best->problem);
    if (share >= overlap_ && better) best = {Rule::kShingles, problems_[index].name, share};
  }
  return best;
}

}  // namespace kw::data
