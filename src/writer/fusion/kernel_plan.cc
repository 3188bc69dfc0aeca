#include "writer/fusion/kernel_plan.h"

#include <algorithm>
#include <set>

#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"
#include "writer/nest/groups.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

std::set<std::string> symbols_of(const ScalarRef& value) {
  std::set<std::string> out;
  visit(value, [&](const Scalar& each) {
    if (const auto* index = std::get_if<Scalar::Index>(&each.node))
      out.merge(index->expr.symbols());
  });
  return out;
}

const Scalar::Call* call_of(const ScalarRef& value, ScalarOp op) {
  const auto* call = std::get_if<Scalar::Call>(&value->node);
  return call != nullptr && call->op == op ? call : nullptr;
}

bool is_subset(const std::set<std::string>& small, const std::set<std::string>& large) {
  return std::includes(large.begin(), large.end(), small.begin(), small.end());
}

// The row group that is being made.
class Grouping {
 public:
  explicit Grouping(const Program& program) : program_(program) {}

  bool add(const Stage& stage) {
    if (reads_elements(stage)) return false;
    return stage.reduced.empty() ? add_pointwise(stage) : add_reduction(stage);
  }

  bool is_empty() const { return group_.parts.empty(); }

  RowGroup take(const std::set<BufferId>& read_later) {
    for (RowPart& part : group_.parts) {
      const BufferId out = part.stage.out;
      const bool scratch =
          program_.buffers[static_cast<std::size_t>(out)].kind == Buffer::Kind::kScratch;
      part.is_stored = part.stage.reduced.empty() || !scratch || read_later.contains(out);
    }
    RowGroup out = std::move(group_);
    *this = Grouping(program_);
    return out;
  }

  Grouping& operator=(Grouping&& other) noexcept {
    group_ = std::move(other.group_);
    values_ = std::move(other.values_);
    written_ = std::move(other.written_);
    return *this;
  }
  Grouping(Grouping&&) = default;

 private:
  // Elements that other lanes of the group wrote.
  bool reads_elements(const Stage& stage) const {
    bool out = false;
    for_each_load(Step(stage),
                  [&](const Scalar::Load& load) { out = out || written_.contains(load.buffer); });
    return out;
  }

  // Where the stage reads a row's value, the variables of its own loops that stand for the rows.
  // nullopt: it reads another row's.
  std::optional<std::vector<std::string>> rows_in(const Stage& stage) const {
    std::vector<std::string> rows(group_.rows.size());
    bool fits = true;
    for_each_load(Step(stage), [&](const Scalar::Load& load) {
      auto value = values_.find(load.buffer);
      if (value == values_.end()) return;
      std::size_t row = 0;
      for (std::size_t d = 0; d < load.index.size(); ++d) {
        if (value->second[d].extent.constant() == 1) continue;
        const auto* index = std::get_if<Scalar::Index>(&load.index[d]->node);
        const std::string name = index == nullptr ? "" : index->expr.python();
        fits = fits && index != nullptr && index->expr == IntExpr::symbol(name) &&
               (rows[row].empty() || rows[row] == name);
        rows[row++] = name;
      }
    });
    if (!fits) return std::nullopt;
    return rows;
  }

  // Too much work for the programs that the group's rows make, at the sizes that were traced.
  bool is_long(const Stage& stage) const {
    constexpr std::int64_t kFewRows = 64, kManyElements = 8192;
    const auto rows = count_of(group_.rows).evaluate(program_.sizes);
    const auto all = count_of(stage.loops).evaluate(program_.sizes);
    return rows && all && *rows < kFewRows &&
           *all / std::max<std::int64_t>(*rows, 1) > kManyElements;
  }

  void rename(Stage& stage, const std::map<std::string, IntExpr>& names) const {
    stage.body = substitute(stage.body, names);
    stage.epilogue = substitute(stage.epilogue, names);
    for (Loop& loop : stage.loops) {
      if (auto found = names.find(loop.variable); found != names.end())
        loop.variable = found->second.python();
    }
  }

  bool add_reduction(Stage stage) {
    const std::vector<Loop> own = real_loops(stage.loops);
    if (is_empty()) {
      group_.rows = own;
    } else {
      if (own.size() != group_.rows.size()) return false;
      const auto rows = rows_in(stage);
      if (!rows) return false;
      std::map<std::string, IntExpr> names;
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (!(own[i].extent == group_.rows[i].extent)) return false;
        if (!(*rows)[i].empty() && (*rows)[i] != own[i].variable) return false;
        names[own[i].variable] = IntExpr::symbol(group_.rows[i].variable);
      }
      rename(stage, names);
    }
    values_[stage.out] = stage.loops;
    std::vector<Loop> lanes = real_loops(stage.reduced);
    group_.parts.push_back({std::move(stage), std::move(lanes)});
    return true;
  }

  bool add_pointwise(Stage stage) {
    if (is_empty()) return false;
    const auto rows = rows_in(stage);
    if (!rows || std::any_of(rows->begin(), rows->end(),
                             [](const std::string& name) { return name.empty(); }))
      return false;
    // With one row in all, any pointwise stage would do: only what uses its values.
    bool uses = false;
    for_each_load(Step(stage),
                  [&](const Scalar::Load& load) { uses = uses || values_.contains(load.buffer); });
    if (!uses || is_long(stage)) return false;
    std::map<std::string, IntExpr> names;
    std::vector<Loop> lanes = real_loops(stage.loops);
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const auto loop = std::find_if(lanes.begin(), lanes.end(),
                                     [&](const Loop& one) { return one.variable == (*rows)[i]; });
      if (loop == lanes.end() || !(loop->extent == group_.rows[i].extent)) return false;
      lanes.erase(loop);
      names[(*rows)[i]] = IntExpr::symbol(group_.rows[i].variable);
    }
    rename(stage, names);
    written_.insert(stage.out);
    group_.parts.push_back({std::move(stage), std::move(lanes)});
    return true;
  }

  const Program& program_;
  RowGroup group_;
  std::map<BufferId, std::vector<Loop>> values_;  // a row, with the loops that made them
  std::set<BufferId> written_;
};

std::set<BufferId> read_from(const Program& program, std::size_t first) {
  std::set<BufferId> out;
  for (std::size_t i = first; i < program.steps.size(); ++i) {
    for_each_load(program.steps[i], [&](const Scalar::Load& load) { out.insert(load.buffer); });
    if (const auto* sort = std::get_if<Sort>(&program.steps[i])) out.insert(sort->in);
  }
  return out;
}

// With the members of a group as a loop of their own: they read the same elements.
Stage with_groups(const Stage& whole) {
  Stage out = whole;
  Groups groups = split_groups(whole.body, whole.loops);
  if (groups.places.empty()) return out;
  out.loops = std::move(groups.loops);
  IntRanges ranges;
  for (const std::vector<Loop>* loops : {&out.loops, &out.reduced}) {
    for (const Loop& loop : *loops) ranges.loop(loop.variable, loop.extent);
  }
  out.body = simplified(substitute(whole.body, groups.places), ranges);
  if (whole.epilogue) out.epilogue = substitute(whole.epilogue, groups.places);
  return out;
}

// int8 times int8, cast before.
bool is_product_of_bytes(const ScalarRef& body) {
  const auto* product = call_of(body, ScalarOp::kMul);
  return product != nullptr &&
         std::all_of(product->arguments.begin(), product->arguments.end(), [](const auto& factor) {
           const auto* cast = std::get_if<Scalar::Cast>(&factor->node);
           return cast != nullptr && cast->value->dtype == tensor::DType::kInt8;
         });
}

}  // namespace

std::optional<ProductStage> as_product(const Stage& whole) {
  if (whole.reduced.empty() || whole.op != ReduceOp::kSum) return std::nullopt;
  const bool of_bytes = is_product_of_bytes(whole.body);
  if (whole.accumulator != tensor::DType::kFloat32 && !of_bytes) return std::nullopt;
  const Stage stage = with_groups(whole);
  std::vector<ScalarRef> conditions;
  ScalarRef body = stage.body;
  while (const auto* choice = call_of(body, ScalarOp::kSelect)) {
    if (!is_zero(choice->arguments[2])) return std::nullopt;
    for (ScalarRef& term : conjuncts(choice->arguments[0])) conditions.push_back(std::move(term));
    body = choice->arguments[1];
  }
  const auto* product = call_of(body, ScalarOp::kMul);
  if (product == nullptr) return std::nullopt;
  ProductStage out{.stage = stage,
                   .a = product->arguments[0],
                   .b = product->arguments[1],
                   .batch = {},
                   .m = {},
                   .n = {},
                   .k = real_loops(stage.reduced),
                   .of_bytes = of_bytes};
  // Neighbouring columns of a tile are neighbours in the output.
  const std::vector<Loop> outputs = real_loops(stage.loops);
  if (!outputs.empty() && symbols_of(out.a).contains(outputs.back().variable))
    std::swap(out.a, out.b);
  const std::set<std::string> in_a = symbols_of(out.a), in_b = symbols_of(out.b);
  for (const Loop& loop : outputs) {
    const bool a = in_a.contains(loop.variable), b = in_b.contains(loop.variable);
    (a == b ? out.batch : a ? out.m : out.n).push_back(loop);
  }
  if (out.m.empty() || out.n.empty() || out.k.empty()) return std::nullopt;
  for (const Loop& loop : out.k) {
    if (!in_a.contains(loop.variable) || !in_b.contains(loop.variable)) return std::nullopt;
  }
  std::set<std::string> variables;
  for (const std::vector<Loop>& loops : {stage.loops, stage.reduced}) {
    for (const Loop& loop : loops) variables.insert(loop.variable);
  }
  const ScalarRef zero = number(stage.accumulator, 0);
  for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition) {
    std::set<std::string> used;
    for (const std::string& symbol : symbols_of(*condition)) {
      if (variables.contains(symbol)) used.insert(symbol);
    }
    // Of both where both have its variables: it may keep either one's index in bounds.
    const bool of_a = is_subset(used, in_a), of_b = is_subset(used, in_b);
    if (!of_a && !of_b) return std::nullopt;
    if (of_a) out.a = select(*condition, out.a, zero);
    if (of_b) out.b = select(*condition, out.b, zero);
  }
  return out;
}

std::vector<KernelWork> plan_kernels(const Program& program) {
  std::vector<KernelWork> out;
  Grouping grouping(program);
  const auto finish = [&](std::size_t next) {
    if (!grouping.is_empty()) out.emplace_back(grouping.take(read_from(program, next)));
  };
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const auto* stage = std::get_if<Stage>(&step);
    auto product = stage == nullptr ? std::nullopt : as_product(*stage);
    if (stage != nullptr && !product) {
      if (grouping.add(*stage)) continue;
      finish(i);
      if (stage->reduced.empty())
        out.emplace_back(*stage);
      else
        grouping.add(*stage);
      continue;
    }
    finish(i);
    if (product)
      out.emplace_back(std::move(*product));
    else if (const auto* scan = std::get_if<Scan>(&step))
      out.emplace_back(*scan);
    else if (const auto* sort = std::get_if<Sort>(&step))
      out.emplace_back(*sort);
    else
      out.emplace_back(std::get<Scatter>(step));
  }
  finish(program.steps.size());
  return out;
}

}  // namespace kw::writer
