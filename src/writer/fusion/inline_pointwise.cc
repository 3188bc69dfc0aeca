// inline_pointwise, and fuse: pointwise work where its results are used.
#include <algorithm>
#include <set>

#include "writer/fusion/fusion.h"
#include "writer/fusion/readers.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

constexpr int kDear = 24;           // work that is not done twice to save a buffer
constexpr int kDearInProducts = 8;  // the same where each element is read for many outputs
constexpr std::size_t kMaxNodes = 400;

// What an element costs to compute, loads included.
int work_of(const ScalarRef& body, std::size_t& nodes) {
  int out = 0;
  nodes = 0;
  visit(body, [&](const Scalar& each) {
    ++nodes;
    if (std::holds_alternative<Scalar::Load>(each.node)) out += 2;
    const auto* call = std::get_if<Scalar::Call>(&each.node);
    if (call == nullptr) return;
    const bool is_plain =
        call->op >= ScalarOp::kAdd || call->op == ScalarOp::kNeg || call->op == ScalarOp::kAbs;
    out += is_plain && call->op != ScalarOp::kPow ? 1 : 4;
  });
  return out;
}

// Whether a load in the step is made for several iterations of its loops.
bool is_reread(const Step& step, BufferId buffer) {
  const auto* stage = std::get_if<Stage>(&step);
  if (stage == nullptr) return true;
  std::vector<Loop> loops = real_loops(stage->loops);
  const std::vector<Loop> reduced = real_loops(stage->reduced);
  if (reduced.empty()) return false;
  loops.insert(loops.end(), reduced.begin(), reduced.end());
  bool out = false;
  for_each_load(step, [&](const Scalar::Load& load) {
    if (load.buffer != buffer) return;
    std::set<std::string> used;
    for (const ScalarRef& index : load.index) used.merge(known_index(index).symbols());
    for (const Loop& loop : loops) out = out || !used.contains(loop.variable);
  });
  return out;
}

template <typename Change>
void change_expressions(Step& step, const Change& change) {
  if (auto* scatter = std::get_if<Scatter>(&step)) {
    for (ScalarRef& index : scatter->index) index = change(index);
    scatter->value = change(scatter->value);
    return;
  }
  if (std::holds_alternative<Sort>(step)) return;
  Stage& stage =
      std::holds_alternative<Scan>(step) ? std::get<Scan>(step).stage : std::get<Stage>(step);
  stage.body = change(stage.body);
  if (stage.epilogue) stage.epilogue = change(stage.epilogue);
}

// The stage's element at the index of a load.
ScalarRef element_at(const Stage& stage, const Scalar::Load& load, const IntRanges& ranges) {
  std::map<std::string, IntExpr> values;
  for (std::size_t d = 0; d < stage.loops.size(); ++d)
    values[stage.loops[d].variable] = known_index(load.index[d]);
  return simplified(substitute(stage.body, values), ranges);
}

bool worth_inlining(const Program& program, const Stage& stage, const Readers& readers) {
  std::size_t nodes = 0;
  const int work = work_of(stage.body, nodes);
  if (nodes * readers.loads > kMaxNodes) return false;
  const bool reread =
      std::any_of(readers.steps.begin(), readers.steps.end(),
                  [&](std::size_t step) { return is_reread(program.steps[step], stage.out); });
  if (reread) return work <= kDearInProducts;
  return readers.loads == 1 || work <= kDear;
}

bool inline_one(Program& program, std::size_t at) {
  const auto* found = std::get_if<Stage>(&program.steps[at]);
  if (found == nullptr || !found->reduced.empty() || !is_scratch(program, found->out)) return false;
  const Stage stage = *found;
  const Readers readers = readers_of(program, stage.out);
  if (!readers.only_known || readers.loads == 0 || !worth_inlining(program, stage, readers))
    return false;
  const IntRanges ranges = ranges_of(program);
  for (const std::size_t step : readers.steps) {
    change_expressions(program.steps[step], [&](const ScalarRef& value) {
      return rewritten(value, [&](const Scalar& each) -> ScalarRef {
        const auto* load = std::get_if<Scalar::Load>(&each.node);
        if (load == nullptr || load->buffer != stage.out) return nullptr;
        return element_at(stage, *load, ranges);
      });
    });
  }
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

}  // namespace

void inline_pointwise(Program& program) {
  for (std::size_t i = 0; i < program.steps.size();) {
    if (!inline_one(program, i)) ++i;
  }
}

void fuse(Program& program) {
  for (std::size_t before = program.steps.size() + 1; program.steps.size() < before;) {
    before = program.steps.size();
    merge_epilogues(program);
    inline_pointwise(program);
  }
}

}  // namespace kw::writer
