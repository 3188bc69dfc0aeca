#include "writer/nest/step_reads.h"

#include <algorithm>

namespace kw::writer {

std::vector<Access> reads_of(const Step& step) {
  std::vector<Access> out;
  if (const auto* stage = std::get_if<Stage>(&step)) {
    collect_reads(stage->body, out);
    collect_reads(stage->epilogue, out);
  } else if (const auto* scan = std::get_if<Scan>(&step)) {
    collect_reads(scan->stage.body, out);
    collect_reads(scan->stage.epilogue, out);
  } else if (const auto* sort = std::get_if<Sort>(&step)) {
    out.push_back({sort->in, {}});
  } else {
    const auto& scatter = std::get<Scatter>(step);
    collect_reads(scatter.value, out);
    for (const ScalarRef& index : scatter.index) collect_reads(index, out);
    out.push_back({scatter.out, {}});
  }
  return out;
}

bool reads_buffer(const Step& step, BufferId buffer) {
  const std::vector<Access> reads = reads_of(step);
  return std::any_of(reads.begin(), reads.end(),
                     [&](const Access& read) { return read.buffer == buffer; });
}

std::optional<std::size_t> only_reader(const Program& program, std::size_t at, BufferId buffer) {
  std::optional<std::size_t> reader;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (i == at || !reads_buffer(program.steps[i], buffer)) continue;
    if (reader || i < at) return std::nullopt;
    reader = i;
  }
  return reader;
}

}  // namespace kw::writer
