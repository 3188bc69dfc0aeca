#include "writer/triton/triton_source.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "writer/triton/host_text.h"
#include "writer/triton/launch.h"
#include "writer/triton/support.h"

namespace kw::writer {
namespace {

using triton::Launch;
using triton::Tuning;

// "_softmax: max" is softmax_max_kernel.
class Names {
 public:
  std::string of(const std::string& label) {
    std::string out;
    for (const char c : label) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0)
        out += c;
      else if (!out.empty() && out.back() != '_')
        out += '_';
    }
    while (!out.empty() && out.back() == '_') out.pop_back();
    if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out = "step_" + out;
    const int times = ++used_[out];
    return times == 1 ? out + "_kernel" : fmt::format("{}_{}_kernel", out, times);
  }

 private:
  std::map<std::string, int> used_;
};

std::vector<Launch> step_by_step(const Program& program, const Tuning& tuning) {
  Names names;
  std::vector<Launch> out;
  for (const Step& step : program.steps) {
    if (const auto* stage = std::get_if<Stage>(&step))
      out.push_back(triton::block_kernel(program, *stage, names.of(stage->label), tuning));
    else if (const auto* scan = std::get_if<Scan>(&step))
      out.push_back(triton::scan_kernel(program, *scan, names.of(scan->stage.label), tuning));
    else if (const auto* sort = std::get_if<Sort>(&step))
      out.push_back(triton::sort_kernel(program, *sort, names.of(sort->label), tuning));
    else if (const auto* scatter = std::get_if<Scatter>(&step))
      out.push_back(triton::scatter_kernel(program, *scatter, names.of(scatter->label), tuning));
  }
  return out;
}

}  // namespace

const std::vector<TritonStrategy>& triton_strategies() {
  static const std::vector<TritonStrategy> all = {
      {"naive", "one kernel an operator, a lane for each output, reductions in a loop"},
  };
  return all;
}

Result<TritonFile> triton_source(const Graph& graph, const Program& program,
                                 const task::Signature& signature, const TritonStrategy& strategy,
                                 TritonForm form) {
  (void)strategy;
  const auto given = static_cast<std::size_t>(
      std::count_if(program.buffers.begin(), program.buffers.end(), [](const Buffer& one) {
        return one.kind == Buffer::Kind::kInput || one.kind == Buffer::Kind::kScalar;
      }));
  const std::size_t wanted = signature.inputs.size() + signature.statics.size();
  if (given != wanted || program.outputs.size() != signature.outputs.size())
    return fail(ErrorCode::kInvalidArgument,
                "the graph has {} inputs and {} outputs, the problem {} and {}", given,
                program.outputs.size(), wanted, signature.outputs.size());
  const std::vector<Launch> launches = step_by_step(program, {});
  std::set<std::string> missing, functions;
  bool libdevice = false;
  TritonFile out;
  for (const Launch& launch : launches) {
    missing.insert(launch.missing.begin(), launch.missing.end());
    functions.insert(launch.functions.begin(), launch.functions.end());
    libdevice = libdevice || launch.libdevice;
    out.tiling.push_back(launch.name + " " + launch.tiling);
  }
  if (!missing.empty())
    return fail(ErrorCode::kUnsupported, "Triton has no text for {}", fmt::join(missing, ", "));
  KW_TRY(const std::string run, triton::run_text(graph, program, launches, form));
  out.source = "import torch\n";
  if (form == TritonForm::kModelNew) out.source += "import torch.nn as nn\n";
  out.source += "import triton\nimport triton.language as tl\n";
  if (libdevice) out.source += "from triton.language.extra import libdevice\n";
  out.source += "\n\n" + triton::support_text(functions);
  for (const Launch& launch : launches) out.source += launch.text + "\n\n";
  out.source += run;
  if (form == TritonForm::kModelNew)
    out.source += "\n\n" + triton::model_text(program, signature);
  return out;
}

}  // namespace kw::writer
