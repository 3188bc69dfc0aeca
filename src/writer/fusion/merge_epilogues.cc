// merge_epilogues: what is done to each reduced value is done while it is in a register.
#include <algorithm>
#include <optional>
#include <vector>

#include "writer/fusion/fusion.h"
#include "writer/fusion/readers.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

bool is_one(const Loop& loop) {
  return loop.extent == IntExpr(1);
}

// place[d]: which of the reader's loops walks dimension d of what it reads through this load. Each
// loop walks one dimension of its extent; those of extent 1 pair up in their order. nullopt where
// the load is of another form.
std::optional<std::vector<std::size_t>> places(const Scalar::Load& load, const Stage& reader,
                                               const Stage& made) {
  std::vector<std::size_t> out;
  std::vector<bool> walked(reader.loops.size(), false);
  for (std::size_t d = 0; d < made.loops.size(); ++d) {
    const IntExpr index = known_index(load.index[d]);
    std::size_t place = 0;
    const auto fits = [&](const Loop& loop) {
      if (walked[place] || !(loop.extent == made.loops[d].extent)) return false;
      return index == IntExpr::symbol(loop.variable) || (is_one(loop) && index == IntExpr());
    };
    while (place < reader.loops.size() && !fits(reader.loops[place])) ++place;
    if (place == reader.loops.size()) return std::nullopt;
    walked[place] = true;
    out.push_back(place);
  }
  return out;
}

// The same for all loads of what `made` makes.
std::optional<std::vector<std::size_t>> places(const Stage& reader, const Stage& made) {
  if (reader.loops.size() != made.loops.size()) return std::nullopt;
  std::optional<std::vector<std::size_t>> out;
  bool is_same = true;
  for_each_load(reader, [&](const Scalar::Load& load) {
    if (load.buffer != made.out) return;
    const auto mine = places(load, reader, made);
    is_same = is_same && mine && (!out || *out == *mine);
    out = mine;
  });
  return is_same ? out : std::nullopt;
}

ScalarRef value_of(const Program& program, const Stage& made) {
  if (made.epilogue) return made.epilogue;
  const bool is_place = made.op == ReduceOp::kArgMin || made.op == ReduceOp::kArgMax;
  const tensor::DType kept = program.buffers[static_cast<std::size_t>(made.out)].type.dtype;
  return cast(kept, reduced(is_place ? tensor::DType::kInt64 : made.accumulator));
}

// The reduction with the reader's result instead of its own, in the order of the reader's loops.
Stage merged(const Program& program, const Stage& made, const Stage& reader,
             const std::vector<std::size_t>& place) {
  Stage out = made;
  out.label = made.label + ", " + reader.label;
  out.out = reader.out;
  std::map<std::string, IntExpr> names;
  for (std::size_t d = 0; d < place.size(); ++d) {
    out.loops[place[d]] = made.loops[d];
    names.emplace(reader.loops[place[d]].variable, IntExpr::symbol(made.loops[d].variable));
  }
  const ScalarRef value = value_of(program, made);
  out.epilogue = rewritten(substitute(reader.body, names), [&](const Scalar& each) -> ScalarRef {
    const auto* load = std::get_if<Scalar::Load>(&each.node);
    return load != nullptr && load->buffer == made.out ? value : nullptr;
  });
  return out;
}

bool into_reader(Program& program, std::size_t at) {
  const auto* made = std::get_if<Stage>(&program.steps[at]);
  if (made == nullptr || made->reduced.empty()) return false;
  Stage* reader = only_reader(program, at);
  if (reader == nullptr || !reader->reduced.empty()) return false;
  const auto place = places(*reader, *made);
  if (!place) return false;
  *reader = merged(program, *made, *reader, *place);
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

}  // namespace

void merge_epilogues(Program& program) {
  for (std::size_t i = 0; i < program.steps.size();) {
    if (!into_reader(program, i)) ++i;
  }
}

}  // namespace kw::writer
