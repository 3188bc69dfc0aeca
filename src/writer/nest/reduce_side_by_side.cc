// reduce_side_by_side: the sums of neighbouring outputs grow together, so that memory is read in
// its order.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

struct Strides {
  bool reduced_walks = false;  // some read, by the reduced variable in other than single steps
  bool output_steps = false;   // some read, by the output's in single steps
  bool output_walks = false;   // some read, by the output's in other than single steps
};

// Also of what data places, where that place is the same in all of the variable's iterations.
std::optional<IntExpr> step_of(const Nest& nest, const Access& read, const std::string& variable) {
  if (read.by_data.contains(variable)) return std::nullopt;
  Access known = read;
  for (auto& index : known.index) index = index.value_or(IntExpr(0));
  return stride(nest, known, variable);
}

Strides strides(const ScalarRef& value, const Nest& nest, const std::string& reduced,
                const std::string& output) {
  Strides out;
  std::vector<Access> reads;
  collect_reads(value, reads);
  for (const Access& read : reads) {
    const auto by_reduced = step_of(nest, read, reduced), by_output = step_of(nest, read, output);
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
    NestLoop* loop = found->reduced.back();
    const Strides seen =
        strides(found->step->value, nest_, loop->variable, found->loops.back()->variable);
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
    const IntExpr first = IntExpr::symbol(block) * width;
    const IntExpr here = IntExpr::call(IntFunction::kMin, width, all - first);
    const std::string lane = variable + "l";
    const IntExpr at = IntExpr::symbol(lane);
    const std::map<std::string, IntExpr> moved = {{variable, first + at}};

    const Steps made = is_argument(r.declare->op) ? places(*r.declare, step, at, moved)
                                                  : sums(*r.declare, step, at, moved);
    Store put = *r.store;
    for (IntExpr& index : put.index) index = index.substitute(moved);
    put.accumulator.clear();
    put.value = with_reduced(substitute(put.value, moved), made.result);

    NestList steps = jammed(inner, lane, here, made.step);
    if (r.reduced.size() > 1) {
      r.reduced[r.reduced.size() - 2]->body = std::move(steps);
      steps.clear();
      steps.push_back({std::move(*r.reduced.front())});
    }
    NestList zeros, body;
    for (const Store& zero : made.zero) zeros.push_back({zero});
    body.push_back({NestLoop{lane, here, std::move(zeros)}});
    std::move(steps.begin(), steps.end(), std::back_inserter(body));
    body.push_back(loop_over(lane, here, {std::move(put)}));
    last.body = std::move(body);
    last.variable = block;
    last.extent = IntExpr::call(IntFunction::kFloorDiv, all + width - 1, width);
  }

  // Of one lane: before the loops, in each iteration, and what they leave.
  struct Steps {
    std::vector<Store> zero, step;
    ScalarRef result;
  };

  Steps sums(const Declare& declare, const Accumulate& step, const IntExpr& at,
             const std::map<std::string, IntExpr>& moved) {
    const BufferId sums = new_buffer(declare.dtype);
    Store zero;
    zero.buffer = sums;
    zero.index = {at};
    zero.value = identity(declare.op, declare.dtype);
    Store add = zero;
    add.value = substitute(step.value, moved);
    add.update = declare.op;
    return {{zero}, {add}, load(sums, declare.dtype, {index_number(at)})};
  }

  // The best value beside its place, which is told first, from the best before.
  Steps places(const Declare& declare, const Accumulate& step, const IntExpr& at,
               const std::map<std::string, IntExpr>& moved) {
    const bool largest = declare.op == ReduceOp::kArgMax;
    const ScalarRef value = substitute(step.value, moved);
    const tensor::DType dtype = value->dtype;
    const BufferId bests = new_buffer(dtype), places = new_buffer(tensor::DType::kInt64);
    const ScalarRef best = load(bests, dtype, {index_number(at)}),
                    place = load(places, tensor::DType::kInt64, {index_number(at)});
    Store no_best, no_place;
    no_best.buffer = bests;
    no_place.buffer = places;
    no_best.index = no_place.index = {at};
    no_best.value = identity(largest ? ReduceOp::kMax : ReduceOp::kMin, dtype);
    no_place.value = integer(tensor::DType::kInt64, 0);
    ScalarRef better = binary(largest ? ScalarOp::kGreater : ScalarOp::kLess, value, best);
    if (tensor::is_floating(dtype)) {
      const ScalarRef first_nan = logical_and(binary(ScalarOp::kNotEqual, value, value),
                                              binary(ScalarOp::kEqual, best, best));
      better = binary(ScalarOp::kOr, better, first_nan);
    }
    Store take = no_best, remember = no_place;
    take.value = select(better, value, best);
    remember.value = select(better, index_number(step.position), place);
    return {{no_best, no_place}, {remember, take}, place};
  }

  // The innermost reduced loop over the lanes, some of its iterations at once: a sum is read and
  // written once for all of them. The rest is a loop of its own.
  static NestList jammed(const NestLoop& loop, const std::string& lane, const IntExpr& lanes,
                         const std::vector<Store>& step) {
    constexpr int kTogether = 4;
    const IntExpr times = IntExpr::call(IntFunction::kFloorDiv, loop.extent, kTogether);
    const auto add_at = [&](const IntExpr& place, NestList& list) {
      for (const Store& one : step) {
        Store out = one;
        out.value = substitute(one.value, {{loop.variable, place}});
        list.push_back({std::move(out)});
      }
    };
    NestList out;
    if (!(times == IntExpr())) {
      const std::string block = loop.variable + "t";
      NestList together, body;
      for (int i = 0; i < kTogether; ++i)
        add_at(IntExpr(kTogether) * IntExpr::symbol(block) + i, together);
      body.push_back({NestLoop{lane, lanes, std::move(together)}});
      out.push_back({NestLoop{block, times, std::move(body)}});
    }
    const IntExpr rest = loop.extent - IntExpr(kTogether) * times;
    if (!(rest == IntExpr())) {
      NestList single, body;
      add_at(IntExpr(kTogether) * times + IntExpr::symbol(loop.variable), single);
      body.push_back({NestLoop{lane, lanes, std::move(single)}});
      out.push_back({NestLoop{loop.variable, rest, std::move(body)}});
    }
    return out;
  }

  BufferId new_buffer(tensor::DType dtype) {
    Buffer out;
    out.name = fmt::format("t{}", nest_.program.buffers.size());
    out.type.dtype = dtype;
    out.type.shape = {IntExpr(width_)};
    nest_.program.buffers.push_back(std::move(out));
    return static_cast<BufferId>(nest_.program.buffers.size() - 1);
  }

  static bool is_argument(ReduceOp op) {
    return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
  }

  static ScalarRef identity(ReduceOp op, tensor::DType dtype) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool floating = tensor::is_floating(dtype);
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
  static std::int64_t largest(tensor::DType dtype) {
    return static_cast<std::int64_t>((~std::uint64_t{0} >> (65 - 8 * tensor::size_of(dtype))));
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
