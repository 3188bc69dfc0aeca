#include "writer/triton/triton_source.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "writer/fusion/fusion.h"
#include "writer/triton/host_text.h"
#include "writer/triton/launch.h"
#include "writer/triton/model_text.h"
#include "writer/triton/support.h"

namespace kw::writer {
namespace {

using triton::Launch;

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

std::string label_of(const RowGroup& group) {
  // "softmax: max", "softmax: sum", "softmax": the operator's name once.
  std::string out;
  for (const RowPart& part : group.parts) {
    const std::string& label = part.stage.label;
    const std::string name = label.substr(0, label.find(':'));
    if (out == name || out.ends_with(" " + name)) continue;
    out += (out.empty() ? "" : " ") + name;
  }
  return out;
}

struct Maker {
  const Program& program;
  const TritonTuning& tuning;
  bool by_rows = false;  // else a lane for each output, whatever it costs
  Names names = {};

  Launch operator()(const Stage& stage) {
    return triton::block_kernel(program, stage, names.of(stage.label), tuning);
  }
  Launch operator()(const Scan& scan) {
    const std::string name = names.of(scan.stage.label);
    if (by_rows && triton::is_scan_of_rows(program, scan))
      return triton::row_scan_kernel(program, scan, name, tuning);
    return triton::scan_kernel(program, scan, name, tuning);
  }
  Launch operator()(const Sort& sort) {
    const std::string name = names.of(sort.label);
    if (by_rows) {
      if (auto whole = triton::row_sort_kernel(program, sort, name, tuning)) return *whole;
    }
    return triton::sort_kernel(program, sort, name, tuning);
  }
  Launch operator()(const Scatter& scatter) {
    const std::string name = names.of(scatter.label);
    if (by_rows && triton::can_add_atomically(program, scatter))
      return triton::atomic_scatter_kernel(program, scatter, name, tuning);
    return triton::scatter_kernel(program, scatter, name, tuning);
  }
  Launch operator()(const RowGroup& group) {
    if (triton::is_for_lanes(program, group)) return (*this)(group.parts.front().stage);
    const triton::Tiling tiling = triton::tiling_of(program, group, tuning);
    const std::string name = names.of(label_of(group));
    if (auto whole = triton::whole_row_kernel(program, group, name, tiling, tuning.whole_row))
      return *whole;
    return triton::row_kernel(program, group, name, tiling);
  }
  Launch operator()(const ProductStage& product) {
    return triton::product_kernel(program, product, names.of(product.stage.label), tuning);
  }
};

struct Recipe {
  TritonStrategy strategy;
  bool fuses = false, groups = false;
};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {{"tiled",
        "chains are fused into what reads or makes them; rows with their reductions in one kernel, "
        "whole where they fit; products in tiles by tl.dot; few long rows in two kernels",
        {.whole_row = 8192, .chunk = 4096}},
       true,
       true},
      {{"online",
        "as tiled, with rows in blocks; the maximum and the sum of softmax in one pass",
        {.outputs = 256,
         .lanes = 4096,
         .online = 1,
         .chunk = 16384,
         .product_m = 128,
         .product_n = 64}},
       true,
       true},
      {{"blocked",
        "as tiled, with rows in blocks and a pass for each reduction; larger tiles",
        {.block = 2048,
         .outputs = 64,
         .lanes = 1024,
         .chunk = 65536,
         .product_m = 128,
         .product_n = 128}},
       true,
       true},
      {{"fused", "chains are fused; a lane for each output, reductions in a loop", {}},
       true,
       false},
      {{"naive", "one kernel an operator, a lane for each output, reductions in a loop", {}}},
  };
  return all;
}

void set_warps(Launch& launch, int warps) {
  if (warps > 0) launch.warps = warps;
  for (Launch& other : launch.otherwise) set_warps(other, warps);
}

std::vector<Launch> launches_of(Program& program, const Recipe& recipe,
                                const TritonTuning& tuning) {
  if (recipe.fuses) fuse(program);
  if (tuning.chunk > 0) split_reductions(program, tuning.chunk);
  Maker make{program, tuning, recipe.groups};
  std::vector<Launch> out;
  if (recipe.groups) {
    for (const KernelWork& work : plan_kernels(program)) out.push_back(std::visit(make, work));
  } else {
    for (const Step& step : program.steps) out.push_back(std::visit(make, step));
  }
  for (Launch& launch : out) set_warps(launch, tuning.warps);
  return out;
}

}  // namespace

const std::vector<TritonStrategy>& triton_strategies() {
  static const std::vector<TritonStrategy> all = [] {
    std::vector<TritonStrategy> out;
    for (const Recipe& recipe : recipes()) out.push_back(recipe.strategy);
    return out;
  }();
  return all;
}

Result<TritonFile> triton_source(const Graph& graph, const Program& lowered,
                                 const task::Signature& signature, std::string_view strategy,
                                 const TritonTuning& tuning, TritonForm form) {
  const auto recipe = std::find_if(recipes().begin(), recipes().end(), [&](const Recipe& one) {
    return one.strategy.name == strategy;
  });
  if (recipe == recipes().end()) return fail(ErrorCode::kNotFound, "unknown strategy {}", strategy);
  Program program = lowered;
  const auto given = static_cast<std::size_t>(
      std::count_if(program.buffers.begin(), program.buffers.end(), [](const Buffer& one) {
        return one.kind == Buffer::Kind::kInput || one.kind == Buffer::Kind::kScalar;
      }));
  const std::size_t wanted = signature.inputs.size() + signature.statics.size();
  if (given != wanted || program.outputs.size() != signature.outputs.size())
    return fail(ErrorCode::kInvalidArgument,
                "the graph has {} inputs and {} outputs, the problem {} and {}", given,
                program.outputs.size(), wanted, signature.outputs.size());
  const std::vector<Launch> launches = launches_of(program, *recipe, tuning);
  std::set<std::string> missing, functions;
  bool libdevice = false;
  TritonFile out;
  for (const Launch& launch : launches) {
    missing.insert(launch.missing.begin(), launch.missing.end());
    functions.insert(launch.functions.begin(), launch.functions.end());
    libdevice = libdevice || launch.libdevice;
    out.tiling.push_back(launch.name + " " + launch.tiling);
    if (launch.warps != 4) out.tiling.back() += fmt::format(" num_warps={}", launch.warps);
    if (launch.stages != 0) out.tiling.back() += fmt::format(" num_stages={}", launch.stages);
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
  if (form == TritonForm::kModelNew) out.source += "\n\n" + triton::model_text(program, signature);
  return out;
}

}  // namespace kw::writer
