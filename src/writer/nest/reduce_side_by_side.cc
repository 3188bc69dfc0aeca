// reduce_side_by_side: the sums of neighbouring outputs grow together, so that memory is read in
// its order.
#include <algorithm>

#include <fmt/format.h>

#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

struct Strides {
  bool reduced_walks =
      false;  // some read moves in other than single steps with the reduced variable
  bool output_steps = false;  // some of those reads move in single steps with the output's
  bool output_walks = false;  // some read moves in other than single steps with the output's
};

// Of the linear index of a read, by variable; nullopt where it is not linear or depends on data.
std::optional<IntExpr> stride(const Access& access, const Program& program,
                              const std::string& variable) {
  const Shape& shape = program.buffers[static_cast<std::size_t>(access.buffer)].type.shape;
  IntExpr linear;
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    if (!access.index[d]) return std::nullopt;
    linear = linear * shape[d] + *access.index[d];
  }
  return linear.coefficient(variable);
}

Strides strides(const ScalarRef& value, const Program& program, const std::string& reduced,
                const std::string& output) {
  Strides out;
  std::vector<Access> reads;
  collect_reads(value, reads);
  for (const Access& read : reads) {
    const auto by_reduced = stride(read, program, reduced),
               by_output = stride(read, program, output);
    const bool walks = !by_reduced || !(*by_reduced == IntExpr(0) || *by_reduced == IntExpr(1));
    out.reduced_walks = out.reduced_walks || walks;
    out.output_steps = out.output_steps || (by_output && *by_output == IntExpr(1));
    out.output_walks =
        out.output_walks || !by_output || !(*by_output == IntExpr(0) || *by_output == IntExpr(1));
  }
  return out;
}

NestNode loop_over(const std::string& variable, const IntExpr& extent, NestNode statement) {
  NestList body;
  body.push_back(std::move(statement));
  return {NestLoop{variable, extent, std::move(body)}};
}

class SideBySide {
 public:
  SideBySide(Nest& nest, int width) : nest_(nest), width_(width) {}

  void in(NestNode& node) {
    std::optional<Reduction> found = reduction_in(node);
    if (!found) return;
    const ReduceOp op = found->declare->op;
    if (op == ReduceOp::kArgMin || op == ReduceOp::kArgMax) return;
    NestLoop* loop = found->reduced.back();
    const Strides seen =
        strides(found->step->value, nest_.program, loop->variable, found->loops.back()->variable);
    if (!seen.reduced_walks || !seen.output_steps || seen.output_walks) return;
    rewrite(*found, *loop, *found->step);
  }

 private:
  // for i: for j0 < ceil(J / W): [acc[jj] = identity]; reduced loops: [acc[jj] op= body]; [store]
  // with jj < min(W, J - W j0).
  void rewrite(Reduction& r, NestLoop& inner, Accumulate& step) {
    NestLoop& last = *r.loops.back();
    const IntExpr all = last.extent, width = width_;
    const std::string variable = last.variable, block = variable + "b";
    const BufferId sums = new_buffer(r.declare->dtype);
    const IntExpr first = IntExpr::symbol(block) * width;
    const IntExpr here = IntExpr::call(IntFunction::kMin, width, all - first);
    const std::string lane = variable + "l";
    const IntExpr at = IntExpr::symbol(lane);
    const std::map<std::string, IntExpr> moved = {{variable, first + at}};

    Store zero;
    zero.buffer = sums;
    zero.index = {at};
    zero.value = identity(r.declare->op, r.declare->dtype);
    Store add = zero;
    add.value = substitute(step.value, moved);
    add.update = r.declare->op;
    Store put = *r.store;
    for (IntExpr& index : put.index) index = index.substitute(moved);
    put.accumulator.clear();
    put.value = with_reduced(substitute(put.value, moved),
                             load(sums, r.declare->dtype, {index_number(at)}));

    inner.body.clear();
    inner.body.push_back(loop_over(lane, here, {std::move(add)}));
    NestNode reduced{std::move(*r.reduced.front())};
    NestList body;
    body.push_back(loop_over(lane, here, {std::move(zero)}));
    body.push_back(std::move(reduced));
    body.push_back(loop_over(lane, here, {std::move(put)}));
    last.body = std::move(body);
    last.variable = block;
    last.extent = IntExpr::call(IntFunction::kFloorDiv, all + width - 1, width);
  }

  BufferId new_buffer(task::DType dtype) {
    Buffer out;
    out.name = fmt::format("t{}", nest_.program.buffers.size());
    out.type.dtype = dtype;
    out.type.shape = {IntExpr(width_)};
    nest_.program.buffers.push_back(std::move(out));
    return static_cast<BufferId>(nest_.program.buffers.size() - 1);
  }

  static ScalarRef identity(ReduceOp op, task::DType dtype) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool floating = task::is_floating(dtype);
    switch (op) {
      case ReduceOp::kProd:
      case ReduceOp::kAll:
        return number(dtype, 1);
      case ReduceOp::kMin:
        return floating ? number(dtype, kInfinity) : integer(dtype, largest(dtype));
      case ReduceOp::kMax:
        return floating ? number(dtype, -kInfinity) : integer(dtype, -largest(dtype) - 1);
      default:
        return number(dtype, 0);
    }
  }
  static std::int64_t largest(task::DType dtype) {
    return static_cast<std::int64_t>((~std::uint64_t{0} >> (65 - 8 * task::size_of(dtype))));
  }

  Nest& nest_;
  std::int64_t width_;
};

}  // namespace

void reduce_side_by_side(Nest& nest, int width) {
  SideBySide pass(nest, width);
  for (NestNode& node : nest.body) pass.in(node);
}

}  // namespace kw::writer
