// Tensors made of numbers and indices alone. Read through: no stage.
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

void filled(OpCall& call, const ScalarRef& value) {
  call.set({call.type(), [value](const Index&) { return value; }});
}

void zeros(OpCall& call) {
  filled(call, writer::number(call.type().dtype, 0));
}
void ones(OpCall& call) {
  filled(call, writer::number(call.type().dtype, 1));
}

LowerFunction full(const char* name) {
  return [name](OpCall& call) {
    filled(call, cast(call.type().dtype, call.at.read(call.tensor(name), {})));
  };
}

void arange(OpCall& call) {
  if (!call.has_rank(1)) return;
  const DType dtype = call.type().dtype;
  const bool from = call.given("start"), by = call.given("step");
  if (tensor::is_floating(dtype)) {
    const ScalarRef start = call.scalar("start", dtype), step = call.scalar("step", dtype, 1);
    return call.set({call.type(), [=, &at = call.at](const Index& index) {
                       ScalarRef out = cast(dtype, at.scalar_of(index[0]));
                       if (by) out = binary(ScalarOp::kMul, out, step);
                       return from ? binary(ScalarOp::kAdd, out, start) : out;
                     }});
  }
  const IntExpr start = from ? call.size("start") : IntExpr();
  const IntExpr step = by ? call.size("step") : IntExpr(1);
  call.set({call.type(), [=, &at = call.at](const Index& index) {
              return cast(dtype, at.scalar_of(start + step * index[0]));
            }});
}

// torch.linspace: from both ends towards the middle.
void linspace(OpCall& call) {
  const DType dtype = call.type().dtype, compute = opmath(dtype);
  if (!tensor::is_floating(dtype)) return call.unsupported("integers");
  if (!call.has_rank(1)) return;
  const ScalarRef start = call.scalar("start", compute), end = call.scalar("end", compute);
  const IntExpr steps = call.size("steps");
  call.set(
      {call.type(), [=, &at = call.at](const Index& index) {
         if (steps == IntExpr(1)) return cast(dtype, start);
         const auto as_number = [&](const IntExpr& x) { return cast(compute, at.scalar_of(x)); };
         const ScalarRef step =
             binary(ScalarOp::kDiv, binary(ScalarOp::kSub, end, start), as_number(steps - 1));
         const ScalarRef low =
             binary(ScalarOp::kAdd, start, binary(ScalarOp::kMul, step, as_number(index[0])));
         const ScalarRef high = binary(
             ScalarOp::kSub, end, binary(ScalarOp::kMul, step, as_number(steps - 1 - index[0])));
         return cast(dtype, select(at.less(index[0] * 2, steps), low, high));
       }});
}

void eye(OpCall& call) {
  if (!call.has_rank(2)) return;
  const DType dtype = call.type().dtype;
  call.set({call.type(), [=, &at = call.at](const Index& index) {
              return cast(dtype,
                          binary(ScalarOp::kEqual, at.scalar_of(index[0]), at.scalar_of(index[1])));
            }});
}

// A table of a few numbers: a choice by halves of the place.
void constant(OpCall& call) {
  const DType dtype = call.type().dtype;
  constexpr std::size_t kMaxValues = 64;
  std::vector<ScalarRef> values;
  for (const auto& [name, value] : call.node().arguments) {
    if (name != "values") continue;
    if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      for (double each : *reals) values.push_back(writer::number(dtype, each));
    } else if (const auto* booleans = std::get_if<std::vector<bool>>(&value)) {
      for (bool each : *booleans) values.push_back(writer::number(dtype, each ? 1 : 0));
    } else if (const auto* wholes = std::get_if<std::vector<IntExpr>>(&value)) {
      for (const IntExpr& each : *wholes)
        values.push_back(integer(dtype, each.constant().value_or(0)));
    }
  }
  if (product(call.type().shape).constant() != static_cast<std::int64_t>(values.size()))
    return call.invalid("as many values as elements are needed");
  if (values.size() > kMaxValues)
    return call.unsupported(fmt::format("more than {} values", kMaxValues));
  call.set({call.type(), [=, &at = call.at, shape = call.type().shape](const Index& index) {
              IntExpr place;
              for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + index[d];
              const std::function<ScalarRef(std::size_t, std::size_t)> choose =
                  [&](std::size_t first, std::size_t last) {
                    if (last - first <= 1) return values.at(first);
                    const std::size_t middle = (first + last) / 2;
                    return select(at.less(place, static_cast<std::int64_t>(middle)),
                                  choose(first, middle), choose(middle, last));
                  };
              return values.empty() ? writer::number(dtype, 0) : choose(0, values.size());
            }});
}

void diag_embed(OpCall& call) {
  const Tensor self = call.tensor("self");
  const std::size_t rank = self.rank() + 1;
  const std::size_t a = call.dim("dim1", rank), b = call.dim("dim2", rank);
  const std::int64_t offset = call.integer("offset");
  if (self.rank() == 0 || a == b) return call.invalid("dim1 and dim2 are one");
  if (!call.has_rank(rank)) return;
  call.set({call.type(), [=, &at = call.at](const Index& index) {
              const IntExpr row = index[a] + std::max<std::int64_t>(offset, 0);
              const IntExpr column = index[b] + std::max<std::int64_t>(-offset, 0);
              Index mine;
              for (std::size_t d = 0; d < index.size(); ++d) {
                if (d != a && d != b) mine.push_back(index[d]);
              }
              mine.push_back(offset >= 0 ? index[a] : index[b]);
              return select(binary(ScalarOp::kEqual, at.scalar_of(row), at.scalar_of(column)),
                            at.read(self, mine), writer::number(self.type.dtype, 0));
            }});
}

}  // namespace

void add_creation(LowerTable& table) {
  for (const char* name : {"zeros.default", "zeros_like.default", "new_zeros.default",
                           // Never read before it is written.
                           "empty.memory_format", "empty_like.default", "new_empty.default",
                           "empty_strided.default", "empty_permuted.default", "zero.default"})
    table[name] = zeros;
  for (const char* name : {"ones.default", "ones_like.default", "new_ones.default"})
    table[name] = ones;
  for (const char* name : {"full.default", "full_like.default", "new_full.default"})
    table[name] = full("fill_value");
  table["fill.Scalar"] = full("value");
  table["fill.Tensor"] = full("value");
  table["scalar_tensor.default"] = full("s");
  for (const char* name : {"arange.default", "arange.start", "arange.start_step"})
    table[name] = arange;
  table["linspace.default"] = linspace;
  table["eye.default"] = eye;
  table["eye.m"] = eye;
  table["constant"] = constant;
  table["diag_embed.default"] = diag_embed;
}

}  // namespace kw::writer
