// inline_terms: the terms of a strided reduction are computed where they are added up.
#include <algorithm>
#include <set>

#include "writer/fusion/fusion.h"
#include "writer/fusion/readers.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

std::vector<Loop> all_loops(const Stage& stage) {
  std::vector<Loop> out = stage.loops;
  out.insert(out.end(), stage.reduced.begin(), stage.reduced.end());
  return out;
}

// A product whose factors are the same along some loop each: its sum may be one of matrices.
bool is_outer_product(const Stage& made) {
  const Scalar* value = made.body.get();
  while (const auto* cast = std::get_if<Scalar::Cast>(&value->node)) value = cast->value.get();
  const auto* call = std::get_if<Scalar::Call>(&value->node);
  if (call == nullptr || call->op != ScalarOp::kMul) return false;
  return std::all_of(call->arguments.begin(), call->arguments.end(), [&](const ScalarRef& factor) {
    const std::set<std::string> walked = variables_of(factor);
    return std::any_of(made.loops.begin(), made.loops.end(),
                       [&](const Loop& loop) { return !walked.contains(loop.variable); });
  });
}

// By which of the reader's variables each of the made stage's loops is walked through a load, where
// each iteration of the reader loads an element of its own.
std::optional<std::map<std::string, IntExpr>> walk_of(const Scalar::Load& load, const Stage& made,
                                                      const std::vector<Loop>& around) {
  std::map<std::string, IntExpr> out;
  std::set<std::string> walked;
  for (std::size_t d = 0; d < load.index.size(); ++d) {
    const IntExpr at = known_index(load.index[d]);
    const Loop& own = made.loops[d];
    if (!(own.extent == IntExpr(1))) {
      const auto loop = std::find_if(around.begin(), around.end(), [&](const Loop& each) {
        return at == IntExpr::symbol(each.variable) && each.extent == own.extent;
      });
      if (loop == around.end() || !walked.insert(loop->variable).second) return std::nullopt;
    }
    out.emplace(own.variable, at);
  }
  const auto is_walked = [&](const Loop& loop) {
    return loop.extent == IntExpr(1) || walked.contains(loop.variable);
  };
  if (!std::all_of(around.begin(), around.end(), is_walked)) return std::nullopt;
  return out;
}

// The same for all loads of what `made` makes, none of which is in the reader's epilogue.
std::optional<std::map<std::string, IntExpr>> walk_of(const Stage& made, const Stage& reader) {
  const std::vector<Loop> around = all_loops(reader);
  std::optional<std::map<std::string, IntExpr>> out;
  bool is_same = true;
  std::size_t loads = 0;
  for_each_load(reader, [&](const Scalar::Load& load) {
    if (load.buffer != made.out) return;
    const auto mine = walk_of(load, made, around);
    is_same = is_same && mine && (!out || *out == *mine);
    out = mine;
    ++loads;
  });
  visit(reader.body, [&](const Scalar& each) {
    const auto* load = std::get_if<Scalar::Load>(&each.node);
    if (load != nullptr && load->buffer == made.out) --loads;
  });
  return is_same && loads == 0 ? out : std::nullopt;
}

bool into_reduction(Program& program, std::size_t at) {
  const auto* made = std::get_if<Stage>(&program.steps[at]);
  if (made == nullptr || !made->reduced.empty() || made->loops.empty()) return false;
  Stage* sum = only_reader(program, at);
  if (sum == nullptr || sum->reduced.empty()) return false;
  const auto walk = walk_of(*made, *sum);
  if (!walk) return false;
  // Along memory, fuse_loops() joins the two loops, a statement each.
  const bool is_strided =
      !(walk->at(made->loops.back().variable) == IntExpr::symbol(sum->reduced.back().variable));
  if (!is_strided && !(sum->op == ReduceOp::kSum && is_outer_product(*made))) return false;
  const ScalarRef term = substitute(made->body, *walk);
  sum->body = rewritten(sum->body, [&](const Scalar& each) -> ScalarRef {
    const auto* load = std::get_if<Scalar::Load>(&each.node);
    return load != nullptr && load->buffer == made->out ? term : nullptr;
  });
  sum->label = made->label + ", " + sum->label;
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

}  // namespace

void inline_terms(Program& program) {
  // Backwards, so that what makes the terms of a term is inlined after it.
  for (std::size_t i = program.steps.size(); i-- > 0;) into_reduction(program, i);
}

}  // namespace kw::writer
