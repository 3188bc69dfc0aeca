// inline_epilogues: what is done to each sum is done while it is in a register.
#include <algorithm>

#include "base/check.h"
#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"
#include "writer/nest/step_reads.h"

namespace kw::writer {
namespace {

// place[d]: the reader's loop that walks dimension d of what it reads; empty where some load is
// not of that form, or not all are equal.
std::vector<std::size_t> places(const Stage& reader, const Stage& made) {
  std::vector<Access> reads;
  collect_reads(reader.body, reads);
  std::vector<std::size_t> out;
  bool first = true;
  for (const Access& read : reads) {
    if (read.buffer != made.out) continue;
    std::vector<std::size_t> mine;
    for (const auto& index : read.index) {
      for (std::size_t i = 0; i < reader.loops.size(); ++i) {
        if (index && *index == IntExpr::symbol(reader.loops[i].variable)) mine.push_back(i);
      }
    }
    std::set<std::size_t> different(mine.begin(), mine.end());
    if (mine.size() != made.loops.size() || different.size() != reader.loops.size()) return {};
    for (std::size_t d = 0; d < mine.size(); ++d) {
      if (!(reader.loops[mine[d]].extent == made.loops[d].extent)) return {};
    }
    if (!first && mine != out) return {};
    out = mine;
    first = false;
  }
  return out;
}

class Inliner {
 public:
  explicit Inliner(Program& program) : program_(program) {}

  void run() {
    for (std::size_t i = 0; i < program_.steps.size();) {
      if (!into_reader(i)) ++i;
    }
  }

 private:
  bool into_reader(std::size_t at) {
    const auto* made = std::get_if<Stage>(&program_.steps[at]);
    if (made == nullptr || made->reduced.empty() || made->loops.empty()) return false;
    if (made->op == ReduceOp::kArgMax || made->op == ReduceOp::kArgMin) return false;
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(made->out)];
    if (buffer.kind != Buffer::Kind::kScratch) return false;
    const std::optional<std::size_t> reader = only_reader(program_, at, made->out);
    if (!reader) return false;
    const auto* stage = std::get_if<Stage>(&program_.steps[*reader]);
    if (stage == nullptr || !stage->reduced.empty()) return false;
    const std::vector<std::size_t> place = places(*stage, *made);
    if (place.empty()) return false;
    program_.steps[*reader] = merged(*made, *stage, place, buffer.type.dtype);
    program_.steps.erase(program_.steps.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

  static Stage merged(const Stage& made, const Stage& reader, const std::vector<std::size_t>& place,
                      task::DType kept) {
    Stage out = made;
    out.label = made.label + ", " + reader.label;
    out.out = reader.out;
    std::map<std::string, IntExpr> names;
    for (std::size_t d = 0; d < place.size(); ++d) {
      out.loops[place[d]] = made.loops[d];
      names.emplace(reader.loops[place[d]].variable, IntExpr::symbol(made.loops[d].variable));
    }
    const ScalarRef value = made.epilogue ? made.epilogue : cast(kept, reduced(made.accumulator));
    const ScalarRef body = substitute(reader.body, names);
    out.epilogue = rewritten(body, [&](const Scalar& each) -> ScalarRef {
      const auto* load = std::get_if<Scalar::Load>(&each.node);
      return load != nullptr && load->buffer == made.out ? value : nullptr;
    });
    return out;
  }

  Program& program_;
};

}  // namespace

void inline_epilogues(Program& program) {
  Inliner(program).run();
}

}  // namespace kw::writer
