#include "writer/loops/lowering.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kw::writer {

using tensor::DType;

namespace {
constexpr std::size_t kMaxTerms = 128;  // of an index; real ones have less than ten

BufferId buffer_of(const Tensor& tensor) {
  KW_CHECK(tensor.buffer);
  return *tensor.buffer;
}
}  // namespace

IntExpr product(const Shape& shape, std::size_t first, std::size_t last) {
  IntExpr out = 1;
  for (std::size_t d = first; d < std::min(last, shape.size()); ++d) out = out * shape[d];
  return out;
}

Lowering::Lowering(const Graph& graph) {
  program_.sizes = graph.sizes;
  program_.conditions = graph.conditions;
  for (const auto& [name, value] : graph.sizes) names_.insert(name);
  for (const GraphInput& each : graph.inputs) {
    names_.insert(each.name);
    program_.buffers.push_back(
        {each.role == InputRole::kScalar ? Buffer::Kind::kScalar : Buffer::Kind::kInput, each.name,
         each.type});
    if (each.role == InputRole::kScalar) ranges.unbounded(each.name);
  }
  for (const GraphInput& each : graph.inputs) {
    for (const IntExpr& extent : each.type.shape) ranges.positive(extent);
  }
  inputs_ = graph.inputs.size();
  for (const Node& node : graph.nodes) {
    for (const TensorType& type : node.outputs) {
      for (const IntExpr& extent : type.shape) ranges.positive(extent);
    }
  }
}

Tensor Lowering::of_buffer(BufferId buffer) {
  const TensorType& type = program_.buffers[static_cast<std::size_t>(buffer)].type;
  return {type,
          [this, buffer, dtype = type.dtype](const Index& index) {
            std::vector<ScalarRef> scalars;
            for (const IntExpr& each : index) scalars.push_back(scalar_of(each));
            return load(buffer, dtype, std::move(scalars));
          },
          buffer};
}

Tensor Lowering::input(std::size_t index) {
  Tensor out = of_buffer(static_cast<BufferId>(index));
  out.number = program_.buffers[index].kind == Buffer::Kind::kScalar;
  return out;
}

ScalarRef Lowering::read(const Tensor& tensor, const Index& index) {
  const bool simple = std::all_of(index.begin(), index.end(),
                                  [](const IntExpr& each) { return each.terms() <= kMaxTerms; });
  if (index.size() == tensor.rank() && simple) return tensor.rule(index);
  if (!misfit_) {
    misfit_ = simple ? fmt::format("an index of {} dimensions into a tensor of {}", index.size(),
                                   tensor.rank())
                     : fmt::format("an index of more than {} terms", kMaxTerms);
  }
  return writer::number(tensor.type.dtype, 0);
}

std::optional<std::string> Lowering::take_misfit() {
  return std::exchange(misfit_, std::nullopt);
}

ScalarRef Lowering::scalar_of(const IntExpr& expr) {
  const std::set<std::string> symbols = expr.symbols();
  if (std::none_of(symbols.begin(), symbols.end(),
                   [&](const std::string& symbol) { return data_.contains(symbol); }))
    return index_number(expr);
  ScalarRef sum;
  IntExpr plain;
  for (const IntTerm& term : expr.sum()) {
    ScalarRef product;
    IntExpr known = term.coefficient;
    for (const IntFactor& factor : term.factors) {
      ScalarRef value;
      if (!factor.symbol.empty()) {
        auto found = data_.find(factor.symbol);
        if (found == data_.end()) {
          known = known * factor.expr();
          continue;
        }
        value = found->second;
      } else {
        static constexpr std::pair<IntFunction, ScalarOp> kOps[] = {
            {IntFunction::kFloorDiv, ScalarOp::kFloorDiv},
            {IntFunction::kMod, ScalarOp::kRemainder},
            {IntFunction::kMin, ScalarOp::kMin},
            {IntFunction::kMax, ScalarOp::kMax}};
        for (const auto& [function, op] : kOps) {
          if (function == factor.function)
            value = binary(op, scalar_of(factor.a), scalar_of(factor.b));
        }
      }
      product = product ? binary(ScalarOp::kMul, product, value) : value;
    }
    if (!product) {
      plain = plain + known;
      continue;
    }
    if (known != IntExpr(1)) product = binary(ScalarOp::kMul, product, index_number(known));
    sum = sum ? binary(ScalarOp::kAdd, sum, product) : product;
  }
  return plain == IntExpr() ? sum : binary(ScalarOp::kAdd, sum, index_number(plain));
}

IntExpr Lowering::data_index(const ScalarRef& value, const IntExpr& extent) {
  if (const auto* known = std::get_if<Scalar::Index>(&value->node)) return known->expr;
  if (const auto* known = std::get_if<Scalar::Constant>(&value->node)) return known->integer;
  const std::string name = fresh_name("v", next_data_);
  data_.emplace(name, cast(DType::kInt64, value));
  ranges.loop(name, extent);
  return IntExpr::symbol(name);
}

ScalarRef Lowering::less(const IntExpr& a, const IntExpr& b) {
  if (ranges.less(a, b)) return boolean(true);
  if (ranges.less_equal(b, a)) return boolean(false);
  return binary(ScalarOp::kLess, scalar_of(a), scalar_of(b));
}

ScalarRef Lowering::within(const IntExpr& expr, const IntExpr& low, const IntExpr& high) {
  const ScalarRef above = ranges.less_equal(low, expr)
                              ? boolean(true)
                              : binary(ScalarOp::kGreaterEqual, scalar_of(expr), scalar_of(low));
  return logical_and(above, less(expr, high));
}

void Lowering::begin_node(int node, std::string label) {
  node_ = node;
  label_ = std::move(label);
  part_.clear();
}

std::string Lowering::fresh_name(const std::string& prefix, int& next) {
  for (;;) {
    std::string name = prefix + std::to_string(next++);
    if (names_.insert(name).second) return name;
  }
}

std::vector<Loop> Lowering::loops_over(const Shape& extents, const std::string& prefix,
                                       Index& variables) {
  std::vector<Loop> out;
  for (const IntExpr& extent : extents) {
    Loop& loop = out.emplace_back(
        Loop{fresh_name(prefix, prefix == "r" ? next_reduced_ : next_loop_), extent});
    ranges.loop(loop.variable, extent);
    variables.push_back(extent.constant() == 1 ? IntExpr() : IntExpr::symbol(loop.variable));
  }
  return out;
}

BufferId Lowering::new_buffer(const TensorType& type) {
  program_.buffers.push_back({Buffer::Kind::kScratch, "", type});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

Tensor Lowering::map(const TensorType& type, const Rule& body) {
  Stage stage{.label = label(), .node = node_, .out = new_buffer(type)};
  Index at;
  stage.loops = loops_over(type.shape, "i", at);
  stage.body = cast(type.dtype, body(at));
  const Tensor out = of_buffer(stage.out);
  program_.steps.emplace_back(std::move(stage));
  return out;
}

Tensor Lowering::reduce(const TensorType& type, const Reduction& reduction) {
  const bool place = reduction.op == ReduceOp::kArgMin || reduction.op == ReduceOp::kArgMax;
  if (reduction.extents.empty()) {
    return map(type, [&](const Index& at) {
      const ScalarRef value =
          place ? integer(DType::kInt64, 0) : cast(reduction.accumulator, reduction.body(at, {}));
      return reduction.epilogue ? reduction.epilogue(at, value) : value;
    });
  }
  Stage stage{.label = label(),
              .node = node_,
              .out = new_buffer(type),
              .op = reduction.op,
              .accumulator = reduction.accumulator};
  Index at, over;
  stage.loops = loops_over(type.shape, "i", at);
  stage.reduced = loops_over(reduction.extents, "r", over);
  stage.body = cast(reduction.accumulator, reduction.body(at, over));
  const ScalarRef value = reduced(place ? DType::kInt64 : reduction.accumulator);
  if (reduction.epilogue)
    stage.epilogue = cast(type.dtype, reduction.epilogue(at, value));
  else if (value->dtype != type.dtype)
    stage.epilogue = cast(type.dtype, value);
  const Tensor out = of_buffer(stage.out);
  program_.steps.emplace_back(std::move(stage));
  return out;
}

Tensor Lowering::scan(const TensorType& type, std::size_t axis, bool reversed, ReduceOp op,
                      DType accumulator, const Rule& body) {
  Scan scan{.stage = {.label = label(),
                      .node = node_,
                      .out = new_buffer(type),
                      .op = op,
                      .accumulator = accumulator},
            .axis = axis,
            .reversed = reversed};
  Index at;
  scan.stage.loops = loops_over(type.shape, "i", at);
  scan.stage.body = cast(accumulator, body(at));
  const bool place = op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
  const ScalarRef value = reduced(place ? DType::kInt64 : accumulator);
  if (value->dtype != type.dtype) scan.stage.epilogue = cast(type.dtype, value);
  const Tensor out = of_buffer(scan.stage.out);
  program_.steps.emplace_back(std::move(scan));
  return out;
}

Tensor Lowering::in_buffer(const Tensor& tensor) {
  if (tensor.buffer) {
    const TensorType& type = program_.buffers[static_cast<std::size_t>(*tensor.buffer)].type;
    if (type == tensor.type) return tensor;
  }
  return map(tensor.type, [&](const Index& index) { return read(tensor, index); });
}

Lowering::Sorted Lowering::sort(const Tensor& in, bool descending,
                                const std::optional<IntExpr>& first) {
  const Tensor source = in_buffer(in);
  TensorType type = in.type;
  if (first && !type.shape.empty()) type.shape.back() = *first;
  Sort step{.label = label(),
            .node = node_,
            .in = buffer_of(source),
            .values = new_buffer(type),
            .indices = new_buffer({DType::kInt64, type.shape}),
            .descending = descending,
            .first = first};
  Sorted out{of_buffer(step.values), of_buffer(step.indices)};
  program_.steps.emplace_back(std::move(step));
  return out;
}

Tensor Lowering::scatter(const Tensor& start, const Shape& extents, ScatterOp op,
                         const std::function<Index(const Index&)>& place, const Rule& value) {
  const Tensor out = map(start.type, [&](const Index& index) { return read(start, index); });
  Scatter step{.label = label(), .node = node_, .out = buffer_of(out), .op = op};
  Index at;
  step.loops = loops_over(extents, "i", at);
  for (const IntExpr& each : place(at)) step.index.push_back(scalar_of(each));
  step.value = cast(start.type.dtype, value(at));
  program_.steps.emplace_back(std::move(step));
  return out;
}

namespace {

struct Access {
  std::vector<BufferId> reads, writes;
};

void loads_of(const ScalarRef& value, std::vector<BufferId>& out) {
  visit(value, [&](const Scalar& each) {
    if (const auto* load = std::get_if<Scalar::Load>(&each.node)) out.push_back(load->buffer);
  });
}

Access access_of(const Step& step) {
  Access out;
  if (const auto* sort = std::get_if<Sort>(&step))
    return {{sort->in}, {sort->values, sort->indices}};
  if (const auto* scatter = std::get_if<Scatter>(&step)) {
    for (const ScalarRef& index : scatter->index) loads_of(index, out.reads);
    loads_of(scatter->value, out.reads);
    out.writes = {scatter->out};
    return out;
  }
  const Stage& stage =
      std::holds_alternative<Scan>(step) ? std::get<Scan>(step).stage : std::get<Stage>(step);
  loads_of(stage.body, out.reads);
  loads_of(stage.epilogue, out.reads);
  out.writes = {stage.out};
  return out;
}

}  // namespace

void Lowering::drop_unread_steps() {
  std::set<BufferId> live(program_.outputs.begin(), program_.outputs.end());
  std::vector<Step> kept;
  for (auto step = program_.steps.rbegin(); step != program_.steps.rend(); ++step) {
    const Access access = access_of(*step);
    if (std::none_of(access.writes.begin(), access.writes.end(),
                     [&](BufferId id) { return live.contains(id); }))
      continue;
    live.insert(access.reads.begin(), access.reads.end());
    live.insert(access.writes.begin(), access.writes.end());
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  program_.steps = std::move(kept);

  std::vector<BufferId> numbers(program_.buffers.size(), -1);
  std::vector<Buffer> buffers;
  for (std::size_t id = 0; id < program_.buffers.size(); ++id) {
    if (id >= inputs_ && !live.contains(static_cast<BufferId>(id))) continue;
    numbers[id] = static_cast<BufferId>(buffers.size());
    buffers.push_back(std::move(program_.buffers[id]));
  }
  program_.buffers = std::move(buffers);
  const auto change = [&](BufferId id) { return numbers[static_cast<std::size_t>(id)]; };
  Rewriter renumbered([&](const ScalarRef& value, Rewriter& rewriter) -> ScalarRef {
    if (!std::holds_alternative<Scalar::Load>(value->node)) return nullptr;
    Scalar out = *rewriter.with_parts(value);
    BufferId& buffer = std::get<Scalar::Load>(out.node).buffer;
    buffer = change(buffer);
    return std::make_shared<const Scalar>(std::move(out));
  });
  for (BufferId& id : program_.outputs) id = change(id);
  for (Step& step : program_.steps) {
    if (auto* sort = std::get_if<Sort>(&step)) {
      sort->in = change(sort->in);
      sort->values = change(sort->values);
      sort->indices = change(sort->indices);
    } else if (auto* scatter = std::get_if<Scatter>(&step)) {
      scatter->out = change(scatter->out);
      for (ScalarRef& index : scatter->index) index = renumbered.of(index);
      scatter->value = renumbered.of(scatter->value);
    } else {
      Stage& stage =
          std::holds_alternative<Scan>(step) ? std::get<Scan>(step).stage : std::get<Stage>(step);
      stage.out = change(stage.out);
      stage.body = renumbered.of(stage.body);
      stage.epilogue = renumbered.of(stage.epilogue);
    }
  }
}

Program Lowering::finish(const std::vector<Tensor>& outputs) {
  begin_node(-1, "copy");
  std::set<BufferId> taken;
  for (const Tensor& output : outputs) {
    const auto is_own = [&](BufferId id) {
      return program_.buffers[static_cast<std::size_t>(id)].kind == Buffer::Kind::kScratch &&
             !taken.contains(id);
    };
    const auto copy = [&](const Index& index) { return read(output, index); };
    const BufferId id = output.buffer && is_own(*output.buffer) ? *output.buffer
                                                                : buffer_of(map(output.type, copy));
    taken.insert(id);
    program_.outputs.push_back(id);
  }
  int next_output = 0, next_scratch = 0;
  for (BufferId id : program_.outputs) {
    Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)];
    buffer.kind = Buffer::Kind::kOutput;
    buffer.name = fresh_name("out", next_output);
  }
  drop_unread_steps();
  for (Buffer& buffer : program_.buffers) {
    if (buffer.kind == Buffer::Kind::kScratch) buffer.name = fresh_name("t", next_scratch);
  }
  return std::move(program_);
}

}  // namespace kw::writer
