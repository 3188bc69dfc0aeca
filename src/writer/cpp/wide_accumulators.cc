#include "writer/cpp/wide_accumulators.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace kw::writer {
namespace {

constexpr std::int64_t kManyElements = 1024;

struct OpenSum {
  int loops = 0;  // since its declaration
  std::int64_t elements = 1;
};

bool adds_up_errors(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kProd || op == ReduceOp::kLogAddExp;
}

void find(const NestList& nodes, const std::map<std::string, std::int64_t>& sizes,
          std::map<std::string, OpenSum> open, std::set<std::string>& out) {
  for (const NestNode& node : nodes) {
    if (const auto* declared = std::get_if<Declare>(&node.node)) {
      if (declared->op == ReduceOp::kSum && declared->dtype == tensor::DType::kFloat32)
        open[declared->name] = {};
    } else if (const auto* loop = std::get_if<NestLoop>(&node.node)) {
      std::map<std::string, OpenSum> inside = open;
      const auto extent = loop->extent.evaluate(sizes);
      for (auto& sum : inside) {
        ++sum.second.loops;
        if (extent)
          sum.second.elements =
              std::min(kManyElements, sum.second.elements * std::max<std::int64_t>(*extent, 1));
      }
      find(loop->body, sizes, std::move(inside), out);
    } else if (const auto* routine = std::get_if<Routine>(&node.node)) {
      const auto* scan = std::get_if<Scan>(&routine->step);
      if (scan != nullptr && adds_up_errors(scan->stage.op) &&
          scan->stage.accumulator == tensor::DType::kFloat32)
        out.insert(accumulator_of(*scan));
    } else if (const auto* step = std::get_if<Accumulate>(&node.node)) {
      const auto found = open.find(step->name);
      if (found != open.end() && found->second.loops > 1 && found->second.elements >= kManyElements)
        out.insert(step->name);
    }
  }
}

}  // namespace

std::string accumulator_of(const Scan& scan) {
  return fmt::format("a{}", scan.stage.out);
}

std::set<std::string> wide_accumulators(const Nest& nest) {
  std::set<std::string> out;
  find(nest.body, nest.program.sizes, {}, out);
  return out;
}

}  // namespace kw::writer
