#include "writer/nest/nest.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

std::vector<IntExpr> symbols_of(const std::vector<Loop>& loops) {
  std::vector<IntExpr> out;
  for (const Loop& loop : loops) out.push_back(IntExpr::symbol(loop.variable));
  return out;
}

NestNode wrapped(NestList body, const std::vector<Loop>& loops) {
  KW_CHECK(!loops.empty());
  for (std::size_t i = loops.size(); i-- > 0;) {
    NestList outer;
    outer.push_back({NestLoop{loops[i].variable, loops[i].extent, std::move(body)}});
    body = std::move(outer);
  }
  return std::move(body.front());
}

// Without its loops of one iteration; index: of its store then.
Stage without_single_iterations(const Stage& stage, std::vector<IntExpr>& index) {
  Stage out = stage;
  std::map<std::string, IntExpr> first;
  for (const Loop& loop : stage.loops) {
    if (loop.extent == IntExpr(1)) first.emplace(loop.variable, 0);
  }
  std::erase_if(out.loops, [&](const Loop& loop) { return first.contains(loop.variable); });
  index = symbols_of(stage.loops);
  for (IntExpr& one : index) one = one.substitute(first);
  if (first.empty()) return out;
  for (Loop& loop : out.reduced) loop.extent = loop.extent.substitute(first);
  out.body = substitute(out.body, first);
  if (out.epilogue) out.epilogue = substitute(out.epilogue, first);
  return out;
}

NestList of_stage(const Stage& whole, const Program& program) {
  NestList inner;
  Store store;
  const Stage stage = without_single_iterations(whole, store.index);
  store.buffer = stage.out;
  if (stage.reduced.empty()) {
    store.value = stage.body;
    inner.push_back({std::move(store)});
  } else {
    const std::string name = fmt::format("a{}", stage.out);
    const bool argument = stage.op == ReduceOp::kArgMin || stage.op == ReduceOp::kArgMax;
    inner.push_back({Declare{name, stage.op, argument ? stage.body->dtype : stage.accumulator}});
    NestList step;
    step.push_back({Accumulate{name, stage.op, stage.body, row_major(stage.reduced)}});
    inner.push_back(wrapped(std::move(step), stage.reduced));
    store.value = stage.epilogue
                      ? stage.epilogue
                      : reduced(program.buffers[static_cast<std::size_t>(stage.out)].type.dtype);
    store.accumulator = name;
    inner.push_back({std::move(store)});
  }
  if (stage.loops.empty()) return inner;
  NestList out;
  out.push_back(wrapped(std::move(inner), stage.loops));
  return out;
}

class Reads {
 public:
  explicit Reads(std::vector<Access>& out) : out_(out) {}

  void of(const ScalarRef& value) {
    if (!value || !seen_.insert(value.get()).second) return;
    if (const auto* load = std::get_if<Scalar::Load>(&value->node)) {
      Access access{load->buffer, {}};
      for (const ScalarRef& index : load->index) {
        access.index.push_back(index_of(index));
        if (!access.index.back()) access.by_data.merge(variables_of(index));
        of(index);
      }
      out_.push_back(std::move(access));
    } else if (const auto* call = std::get_if<Scalar::Call>(&value->node)) {
      for (const ScalarRef& argument : call->arguments) of(argument);
    } else if (const auto* cast = std::get_if<Scalar::Cast>(&value->node)) {
      of(cast->value);
    }
  }

 private:
  std::vector<Access>& out_;
  std::set<const Scalar*> seen_;
};

Access at_index(BufferId buffer, const std::vector<IntExpr>& index) {
  return {buffer, {index.begin(), index.end()}};
}

Access whole(BufferId buffer) {
  return {buffer, {}};
}

void collect_routine(const Routine& routine, std::vector<Access>& reads,
                     std::vector<Access>& writes) {
  if (const auto* scan = std::get_if<Scan>(&routine.step)) {
    collect_reads(scan->stage.body, reads);
    collect_reads(scan->stage.epilogue, reads);
    writes.push_back(whole(scan->stage.out));
  } else if (const auto* sort = std::get_if<Sort>(&routine.step)) {
    reads.push_back(whole(sort->in));
    writes.push_back(whole(sort->values));
    writes.push_back(whole(sort->indices));
  } else {
    const auto& scatter = std::get<Scatter>(routine.step);
    collect_reads(scatter.value, reads);
    for (const ScalarRef& index : scatter.index) collect_reads(index, reads);
    reads.push_back(whole(scatter.out));
    writes.push_back(whole(scatter.out));
  }
}

}  // namespace

Nest make_nest(const Program& program) {
  Nest out;
  out.program = program;
  for (const Step& step : program.steps) {
    if (const auto* stage = std::get_if<Stage>(&step)) {
      for (NestNode& node : of_stage(*stage, program)) out.body.push_back(std::move(node));
    } else if (const auto* scan = std::get_if<Scan>(&step)) {
      out.body.push_back({Routine{*scan}});
    } else if (const auto* sort = std::get_if<Sort>(&step)) {
      out.body.push_back({Routine{*sort}});
    } else {
      out.body.push_back({Routine{std::get<Scatter>(step)}});
    }
  }
  return out;
}

void collect_reads(const ScalarRef& value, std::vector<Access>& out) {
  Reads(out).of(value);
}

void collect_reads(const NestNode& node, std::vector<Access>& out) {
  if (const auto* loop = std::get_if<NestLoop>(&node.node)) {
    for (const NestNode& child : loop->body) collect_reads(child, out);
  } else if (const auto* accumulate = std::get_if<Accumulate>(&node.node)) {
    collect_reads(accumulate->value, out);
  } else if (const auto* store = std::get_if<Store>(&node.node)) {
    collect_reads(store->value, out);
    if (store->update) out.push_back(at_index(store->buffer, store->index));
  } else if (const auto* product = std::get_if<Product>(&node.node)) {
    for (const ScalarRef& value : {product->left, product->right, product->epilogue})
      collect_reads(value, out);
  } else if (const auto* routine = std::get_if<Routine>(&node.node)) {
    std::vector<Access> writes;
    collect_routine(*routine, out, writes);
  }
}

void collect_writes(const NestNode& node, std::vector<Access>& out) {
  if (const auto* loop = std::get_if<NestLoop>(&node.node)) {
    for (const NestNode& child : loop->body) collect_writes(child, out);
  } else if (const auto* store = std::get_if<Store>(&node.node)) {
    out.push_back(at_index(store->buffer, store->index));
  } else if (const auto* product = std::get_if<Product>(&node.node)) {
    out.push_back(at_index(product->out, product->index));
  } else if (const auto* routine = std::get_if<Routine>(&node.node)) {
    std::vector<Access> reads;
    collect_routine(*routine, reads, out);
  }
}

std::optional<std::int64_t> traced_extent(const Nest& nest, const NestLoop& loop) {
  std::map<std::string, std::int64_t> values = nest.program.sizes;
  const IntExpr count = loop.extent - loop.first;
  for (const std::string& symbol : count.symbols()) values.try_emplace(symbol, 0);
  const auto extent = count.evaluate(values);
  return extent ? std::optional(*extent) : std::nullopt;
}

std::optional<IntExpr> linear_index(const Nest& nest, const Access& access) {
  const Shape& shape = nest.program.buffers[static_cast<std::size_t>(access.buffer)].type.shape;
  const auto local = nest.locals.find(access.buffer);
  const auto is_left = [&](std::size_t d) {
    return local == nest.locals.end() ||
           std::count(local->second.dims.begin(), local->second.dims.end(), d) > 0;
  };
  IntExpr out;
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    if (!is_left(d)) continue;
    const std::optional<IntExpr>& at = access.index[d];
    if (!at) return std::nullopt;
    out = out * shape[d] + *at;
  }
  return out;
}

IntExpr linear_index(const Nest& nest, BufferId buffer, const std::vector<IntExpr>& index) {
  const auto place = linear_index(nest, at_index(buffer, index));
  KW_CHECK(place);
  return *place;
}

std::optional<IntExpr> stride(const Nest& nest, const Access& access, const std::string& variable) {
  const auto place = linear_index(nest, access);
  return place ? place->coefficient(variable) : std::nullopt;
}

void substitute(NestNode& node, const std::map<std::string, IntExpr>& values) {
  if (auto* loop = std::get_if<NestLoop>(&node.node)) {
    loop->first = loop->first.substitute(values);
    loop->extent = loop->extent.substitute(values);
    for (NestNode& child : loop->body) substitute(child, values);
  } else if (auto* accumulate = std::get_if<Accumulate>(&node.node)) {
    accumulate->value = substitute(accumulate->value, values);
    accumulate->position = accumulate->position.substitute(values);
  } else if (auto* store = std::get_if<Store>(&node.node)) {
    store->value = substitute(store->value, values);
    for (IntExpr& index : store->index) index = index.substitute(values);
  } else if (auto* product = std::get_if<Product>(&node.node)) {
    for (ScalarRef* value : {&product->left, &product->right, &product->epilogue})
      *value = substitute(*value, values);
    for (IntExpr& index : product->index) index = index.substitute(values);
    for (auto* loops : {&product->rows, &product->columns, &product->depth}) {
      for (Loop& each : *loops) each.extent = each.extent.substitute(values);
    }
  }
}

ScalarRef with_reduced(const ScalarRef& value, const ScalarRef& replacement) {
  return rewritten(value, [&](const Scalar& each) -> ScalarRef {
    return std::holds_alternative<Scalar::Reduced>(each.node) ? replacement : nullptr;
  });
}

std::optional<Reduction> reduction_in(NestNode& node) {
  Reduction out;
  auto* loop = std::get_if<NestLoop>(&node.node);
  while (loop != nullptr) {
    out.loops.push_back(loop);
    if (loop->body.size() != 1) break;
    loop = std::get_if<NestLoop>(&loop->body.front().node);
  }
  if (loop == nullptr || loop->body.size() != 3) return std::nullopt;
  NestList& body = loop->body;
  out.declare = std::get_if<Declare>(&body[0].node);
  out.store = std::get_if<Store>(&body[2].node);
  auto* reduced = std::get_if<NestLoop>(&body[1].node);
  if (out.declare == nullptr || reduced == nullptr || out.store == nullptr) return std::nullopt;
  for (;;) {
    out.reduced.push_back(reduced);
    if (reduced->body.size() != 1) return std::nullopt;
    out.step = std::get_if<Accumulate>(&reduced->body.front().node);
    if (out.step != nullptr) return out;
    reduced = std::get_if<NestLoop>(&reduced->body.front().node);
    if (reduced == nullptr) return std::nullopt;
  }
}

namespace {

void for_each_reduction(NestList& list, const std::function<void(Reduction&)>& visit) {
  for (NestNode& node : list) {
    if (auto found = reduction_in(node))
      visit(*found);
    else if (auto* loop = std::get_if<NestLoop>(&node.node))
      for_each_reduction(loop->body, visit);
  }
}

}  // namespace

void for_each_reduction(Nest& nest, const std::function<void(Reduction&)>& visit) {
  for_each_reduction(nest.body, visit);
}

}  // namespace kw::writer
