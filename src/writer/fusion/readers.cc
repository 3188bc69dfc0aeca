#include "writer/fusion/readers.h"

#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

bool reads_whole(const Step& step, BufferId buffer) {
  if (const auto* sort = std::get_if<Sort>(&step)) return sort->in == buffer;
  const auto* scatter = std::get_if<Scatter>(&step);
  return scatter != nullptr && scatter->out == buffer;
}

}  // namespace

Readers readers_of(const Program& program, BufferId buffer) {
  Readers out;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (reads_whole(program.steps[i], buffer)) {
      out.steps.insert(i);
      out.only_known = false;
    }
    for_each_load(program.steps[i], [&](const Scalar::Load& load) {
      if (load.buffer != buffer) return;
      out.steps.insert(i);
      ++out.loads;
      for (const ScalarRef& index : load.index) {
        if (!std::holds_alternative<Scalar::Index>(index->node) &&
            !std::holds_alternative<Scalar::Constant>(index->node))
          out.only_known = false;
      }
    });
  }
  return out;
}

bool is_scratch(const Program& program, BufferId id) {
  return program.buffers[static_cast<std::size_t>(id)].kind == Buffer::Kind::kScratch;
}

Stage* only_reader(Program& program, std::size_t at) {
  const auto* made = std::get_if<Stage>(&program.steps[at]);
  if (made == nullptr || !is_scratch(program, made->out)) return nullptr;
  const Readers readers = readers_of(program, made->out);
  if (!readers.only_known || readers.steps.size() != 1) return nullptr;
  return std::get_if<Stage>(&program.steps[*readers.steps.begin()]);
}

}  // namespace kw::writer
