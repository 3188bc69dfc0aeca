// Target: a language of the author, one entry of the table in author.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/candidate.h"
#include "task/signature.h"
#include "writer/author/tuning.h"
#include "writer/graph/graph.h"
#include "writer/loops/loops.h"

namespace kw::writer {

struct Strategy {
  std::string_view name;  // "fused"
  std::string_view plan;  // a sentence that says what the strategy does
};

struct Written {
  std::string source;               // one file
  std::vector<std::string> tiling;  // parts of the plan's line, the choices first; empty: none
};

struct Target {
  task::Language language = task::Language::kCpp;
  std::string_view fence;  // the word behind a Markdown block's opening fence
  // From the one that is most often fastest to the plainest.
  std::vector<Strategy> (*strategies)() = nullptr;
  // The choices of one of these strategies.
  std::vector<Choice> (*choices)(std::string_view strategy) = nullptr;
  // program: the graph's loops. The tuning has been checked.
  Result<Written> (*write)(const Graph& graph, const Program& program,
                           const task::Signature& signature, std::string_view strategy,
                           const Tuning& tuning) = nullptr;
};

}  // namespace kw::writer
