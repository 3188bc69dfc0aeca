// A program for tests and people: problems of the generator, one a line.
//   kw_generator_probe operators
//   kw_generator_probe problems SEED FIRST COUNT [MAX_ELEMENTS [MAX_WORK [OPERATOR [HALF]]]]
//   kw_generator_probe ways SEED FIRST COUNT [MAX_ELEMENTS [MAX_WORK [OPERATOR [HALF]]]]
// OPERATOR: the first one; "-": any. HALF: only problems in this type, float16 or bfloat16.
// ways: not problem after problem, but one for each way of each operator; numbers behind the last
// way give nothing, and such a problem has a "way", "relu/2".
// An operator: {"name", "family", "module_ways", "definition_ways", "half"}. A problem: {"index",
// "name", "operators", "renderings", "words", "depth", "tier", and of both forms "module" and
// "definition":
// {"source" or "definition" and "workloads": [{AXIS: SIZE, ..}, ..], "graph", "inputs": [MEANING,
// ..], "names", "state_keys", "outputs": [DTYPE, ..], "signature"}}.
#include <cstdio>
#include <iostream>

#include "task/definition_json.h"
#include "writer/generate/generate.h"
#include "writer/loops/loops.h"

namespace kw::writer {
namespace {

Json form_json(const ProblemForm& form) {
  Json names = Json::array(), keys = Json::array(), outputs = Json::array();
  for (const task::Argument& one : form.signature.outputs)
    outputs.push_back(tensor::to_string(one.dtype));
  for (const GraphInput& input : form.graph.inputs) names.push_back(input.name);
  for (std::size_t i = 0; i < form.signature.inputs.size(); ++i) keys.push_back(nullptr);
  for (const task::Argument& one : form.signature.statics) keys.push_back(one.state_key);
  Json out = {{"graph", Json::parse(to_json_text(form.graph))},
              {"inputs", form.meanings},
              {"names", names},
              {"state_keys", keys},
              {"outputs", outputs},
              {"signature", task::to_json(form.signature)}};
  if (form.problem.is_module()) {
    out["source"] = form.problem.module().source;
    return out;
  }
  out["definition"] = task::to_json(form.problem.definition());
  for (const task::Workload& workload : form.problem.workloads) {
    Json axes = Json::object();
    for (const auto& [name, n] : workload.axes) axes[name] = n;
    out["workloads"].push_back(std::move(axes));
  }
  return out;
}

// An operator and the number of one of its ways; empty: behind the last.
std::pair<std::string, int> way_at(std::uint64_t index, const std::string& only, bool half) {
  for (const OperatorWays& one : generator_operators()) {
    if ((!only.empty() && one.name != only) || (half && !one.half)) continue;
    const auto count = static_cast<std::uint64_t>(one.module_ways);
    if (index < count) return {one.name, static_cast<int>(index)};
    index -= count;
  }
  return {};
}

int problems(const std::vector<std::string>& arguments) {
  const bool of_ways = arguments[0] == "ways";
  GeneratorOptions options;
  if (of_ways) options.max_depth = 2;
  if (arguments.size() > 4) options.max_elements = std::stoll(arguments[4]);
  if (arguments.size() > 5) options.max_work = std::stoll(arguments[5]);
  const std::string only = arguments.size() > 6 && arguments[6] != "-" ? arguments[6] : "";
  options.only_first = only;
  if (arguments.size() > 7) options.only_half = tensor::dtype_from_string(arguments[7]);
  const std::uint64_t seed = std::stoull(arguments[1]), first = std::stoull(arguments[2]);
  for (std::uint64_t i = first; i < first + std::stoull(arguments[3]); ++i) {
    std::string way;
    if (of_ways) {
      const auto [name, number] = way_at(i, only, options.only_half.has_value());
      if (name.empty()) break;
      options.only_first = name;
      options.first_way = number;
      way = name + "/" + std::to_string(number);
    }
    const auto made = generate_problem(seed, i, options);
    if (!made) {
      std::cout << Json{{"index", i}, {"way", way}, {"error", made.error().message()}}.dump()
                << "\n";
      continue;
    }
    Json out = {{"index", i},
                {"name", made->name},
                {"operators", made->operators},
                {"renderings", made->renderings},
                {"words", made->words},
                {"depth", made->depth},
                {"tier", made->tier},
                {"family", made->family}};
    if (of_ways) out["way"] = way;
    if (auto lowered = lower(made->module.graph); !lowered)
      out["error"] = "module graph: " + lowered.error().message();
    if (auto lowered = lower(made->definition.graph); !lowered)
      out["error"] = "definition graph: " + lowered.error().message();
    out["module"] = form_json(made->module);
    out["definition"] = form_json(made->definition);
    std::cout << out.dump() << "\n";
  }
  return 0;
}

int main_of(const std::vector<std::string>& arguments) {
  if (arguments.size() >= 4 && (arguments[0] == "problems" || arguments[0] == "ways"))
    return problems(arguments);
  if (arguments.size() == 1 && arguments[0] == "operators") {
    for (const OperatorWays& one : generator_operators())
      std::cout << Json{{"name", one.name},
                        {"family", one.family},
                        {"module_ways", one.module_ways},
                        {"definition_ways", one.definition_ways},
                        {"half", one.half}}
                       .dump()
                << "\n";
    return 0;
  }
  std::cerr << "usage: kw_generator_probe operators | problems|ways SEED FIRST COUNT "
               "[MAX_ELEMENTS [MAX_WORK [OPERATOR [HALF]]]]\n";
  return 2;
}

}  // namespace
}  // namespace kw::writer

int main(int count, char** arguments) {
  return kw::writer::main_of({arguments + 1, arguments + count});
}
