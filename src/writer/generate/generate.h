// Random problems: an operator graph and its two forms as people write them, a KernelBench-style
// module and a definition. Each form comes with the graph that the tracer would find in it and the
// interface that the gym would. The same seed, index and options give the same problem on every
// machine and thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "task/problem.h"
#include "task/signature.h"
#include "writer/graph/graph.h"

namespace kw::writer {

struct GeneratorOptions {
  int min_depth = 1, max_depth = 8;       // operators, of 1 to 8
  std::int64_t max_elements = 1LL << 25;  // limit for each tensor
  std::int64_t max_work = 1LL << 33;      // multiplications of an operator
  // Limit for each tensor in the two other size sets, where the shown set is larger: an interpreter
  // of kernels is slow. 0: all sets are about as large as the shown one.
  std::int64_t interpreted_elements = 0;
  std::optional<tensor::DType> only_half;   // only problems in this type; nullopt: some in each
  std::vector<int> tiers;                   // only problems of these; empty: of all
  std::vector<std::string> only_operators;  // problems of these operators alone; empty: of all
  std::string only_first;  // the first operator, where the drawn input suits it; empty: by weight
  // How only_first is written, a number of its table, and problems are drawn until one can have it;
  // a way with a layer in the module alone. -1: any way.
  int first_way = -1;
};

// One of the problem's two forms.
struct ProblemForm {
  task::Problem problem;      // with its hash
  task::Signature signature;  // the first workload's
  Graph graph;                // checked
  // The meaning of each input of the graph, the same in both forms: "x", "conv1 weight".
  std::vector<std::string> meanings;
};

struct GeneratedProblem {
  std::string name;
  std::string family;  // the operators' family where all agree, else "fused"
  int depth = 1, tier = 1;
  std::vector<std::string> operators;   // names of the generator's own table, in order
  std::vector<std::string> made_of;     // the same with the rank of windows: "conv2d"
  std::vector<std::string> renderings;  // "relu/2 module", one for each operator and form
  std::string words;                    // a description of the computation for people
  std::string steps;  // the same as a numbered list over the names of the definition's tensors
  ProblemForm module, definition;
  // The module's problem at two other size sets, the first of odd ones. With interpreted_elements a
  // larger module is not for the target interpret, as its policy says: these are.
  std::vector<task::Problem> resized_modules;
};

// Problem `index` of the stream `seed`. kInternal when a form fails its own checks.
Result<GeneratedProblem> generate_problem(std::uint64_t seed, std::uint64_t index,
                                          const GeneratorOptions& options = {});

// Names of all operators with how many ways there are to write each: all, and in a definition.
struct OperatorWays {
  std::string name, family;
  int module_ways = 0, definition_ways = 0;
  bool half = false;  // holds in half precision
};
std::vector<OperatorWays> generator_operators();

}  // namespace kw::writer
