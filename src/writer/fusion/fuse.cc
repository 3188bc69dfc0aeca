// Epilogues and inlining.
#include <algorithm>
#include <set>

#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

constexpr int kDear = 24;           // work that is not done twice to save a buffer
constexpr int kDearInProducts = 8;  // the same where each element is read for many outputs
constexpr std::size_t kMostNodes = 400;

struct Readers {
  std::set<std::size_t> steps;
  std::size_t loads = 0;
  bool only_known = true;  // every index is an expression of loop variables, in no Sort or Scatter
};

bool reads_whole(const Step& step, BufferId buffer) {
  if (const auto* sort = std::get_if<Sort>(&step)) return sort->in == buffer;
  const auto* scatter = std::get_if<Scatter>(&step);
  return scatter != nullptr && scatter->out == buffer;
}

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
    for (const ScalarRef& index : load.index) used.merge(index_of(index).value().symbols());
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
    values[stage.loops[d].variable] = index_of(load.index[d]).value();
  return simplified(substitute(stage.body, values), ranges);
}

bool worth_inlining(const Program& program, const Stage& stage, const Readers& readers) {
  std::size_t nodes = 0;
  const int work = work_of(stage.body, nodes);
  if (nodes * readers.loads > kMostNodes) return false;
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

bool merge_one(Program& program, std::size_t at) {
  const auto* found = std::get_if<Stage>(&program.steps[at]);
  if (found == nullptr || found->reduced.empty() || !is_scratch(program, found->out)) return false;
  const Stage reduction = *found;
  const Readers readers = readers_of(program, reduction.out);
  if (!readers.only_known || readers.steps.size() != 1) return false;
  const std::size_t place = *readers.steps.begin();
  const auto* reader = std::get_if<Stage>(&program.steps[place]);
  if (reader == nullptr || !reader->reduced.empty()) return false;
  if (reader->loops.size() != reduction.loops.size()) return false;
  std::map<std::string, IntExpr> renamed;
  for (std::size_t d = 0; d < reduction.loops.size(); ++d) {
    if (!(reader->loops[d].extent == reduction.loops[d].extent)) return false;
    renamed[reader->loops[d].variable] = IntExpr::symbol(reduction.loops[d].variable);
  }
  bool fits = true;
  for_each_load(program.steps[place], [&](const Scalar::Load& load) {
    if (load.buffer != reduction.out) return;
    for (std::size_t d = 0; d < load.index.size(); ++d) {
      const bool is_one = reduction.loops[d].extent.constant() == 1;
      fits = fits && index_of(load.index[d]) ==
                         (is_one ? IntExpr() : IntExpr::symbol(reader->loops[d].variable));
    }
  });
  if (!fits) return false;
  const bool places = reduction.op == ReduceOp::kArgMin || reduction.op == ReduceOp::kArgMax;
  const ScalarRef result = reduction.epilogue
                               ? reduction.epilogue
                               : reduced(places ? task::DType::kInt64 : reduction.accumulator);
  Stage merged = reduction;
  merged.out = reader->out;
  merged.label += " > " + reader->label;
  merged.epilogue =
      rewritten(substitute(reader->body, renamed), [&](const Scalar& each) -> ScalarRef {
        const auto* load = std::get_if<Scalar::Load>(&each.node);
        return load != nullptr && load->buffer == reduction.out ? result : nullptr;
      });
  program.steps[place] = std::move(merged);
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

template <typename Try>
bool each_step(Program& program, const Try& attempt) {
  bool changed = false;
  for (std::size_t i = 0; i < program.steps.size();) {
    if (attempt(program, i))
      changed = true;
    else
      ++i;
  }
  return changed;
}

}  // namespace

void merge_epilogues(Program& program) {
  each_step(program, merge_one);
}

void inline_pointwise(Program& program) {
  each_step(program, inline_one);
}

void fuse(Program& program) {
  bool changed = true;
  while (changed) {
    const bool merged = each_step(program, merge_one);
    const bool inlined = each_step(program, inline_one);
    changed = merged || inlined;
  }
}

}  // namespace kw::writer
