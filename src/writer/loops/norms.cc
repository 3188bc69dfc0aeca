// Normalisation layers: mean, reciprocal deviation, then the scaled differences.
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

struct Affine {
  std::optional<Rule> scale, shift;

  ScalarRef apply(ScalarRef value, const Index& channel) const {
    if (scale) value = binary(ScalarOp::kMul, value, (*scale)(channel));
    return shift ? binary(ScalarOp::kAdd, value, (*shift)(channel)) : value;
  }
};

// weight and bias, of the last `rank` dimensions of what they scale.
Affine affine_of(OpCall& call, std::size_t rank, DType dtype) {
  const auto rule = [&](const char* name) -> std::optional<Rule> {
    if (!call.given(name)) return std::nullopt;
    const Tensor tensor = call.tensor(name);
    if (tensor.rank() != rank) {
      call.invalid(fmt::format("{} has {} dimensions instead of {}", name, tensor.rank(), rank));
      return std::nullopt;
    }
    return
        [&at = call.at, tensor, dtype](const Index& i) { return cast(dtype, at.read(tensor, i)); };
  };
  return {rule("weight"), rule("bias")};
}

// 1 / sqrt(squares / count + eps)
std::function<ScalarRef(const Index&, const ScalarRef&)> deviation(const ScalarRef& count,
                                                                   double eps) {
  return [=](const Index&, const ScalarRef& sum) {
    return unary(ScalarOp::kRsqrt, binary(ScalarOp::kAdd, binary(ScalarOp::kDiv, sum, count), eps));
  };
}

Reduced last_dims(const Tensor& of, std::size_t count) {
  Reduced out;
  for (std::size_t d = of.rank() - count; d < of.rank(); ++d) out.dims.push_back(d);
  return out;
}

// A statistic with the reduced dimensions kept as 1.
void set_statistic(OpCall& call, std::size_t output, const Tensor& value) {
  if (call.used(output)) call.set(output, reshaped(call.at, value, call.type(output).shape));
}

void layer_norm(OpCall& call) {
  const Tensor self = call.tensor("input");
  const std::size_t count = call.sizes("normalized_shape").size();
  if (count == 0 || count > self.rank()) return call.invalid("normalized_shape does not fit");
  const DType dtype = opmath(call.type().dtype);
  const Affine affine = affine_of(call, count, dtype);
  const double eps = call.number("eps", 1e-5);
  if (!call.has_rank(self.rank())) return;
  const Reduced over = last_dims(self, count);
  call.at.part("mean");
  const Tensor mean = mean_over(call.at, self, over, dtype);
  call.at.part("deviation");
  const Tensor scale = square_sum_over(call.at, self, mean, over, {dtype, over.kept_shape(self)},
                                       deviation(count_of(self, over, dtype), eps));
  call.at.part("");
  call.map([&](const Index& i) {
    const Index left = over.left(i);
    const ScalarRef gap =
        binary(ScalarOp::kSub, cast(dtype, call.at.read(self, i)), call.at.read(mean, left));
    return affine.apply(binary(ScalarOp::kMul, gap, call.at.read(scale, left)),
                        Index(i.end() - static_cast<std::ptrdiff_t>(count), i.end()));
  });
  set_statistic(call, 1, mean);
  set_statistic(call, 2, scale);
}

void rms_norm(OpCall& call) {
  const Tensor self = call.tensor("input");
  const std::size_t count = call.sizes("normalized_shape").size();
  if (count == 0 || count > self.rank()) return call.invalid("normalized_shape does not fit");
  const DType dtype = opmath(call.type().dtype);
  const Affine affine = affine_of(call, count, dtype);
  const double eps = call.number("eps", tensor::epsilon_of(dtype));
  if (!call.has_rank(self.rank())) return;
  const Reduced over = last_dims(self, count);
  call.at.part("squares");
  const Tensor scale = call.at.reduce({dtype, over.kept_shape(self)},
                                      {.op = ReduceOp::kSum,
                                       .accumulator = dtype,
                                       .extents = over.extents(self),
                                       .body =
                                           [&](const Index& i, const Index& r) {
                                             const ScalarRef x =
                                                 cast(dtype, call.at.read(self, over.join(i, r)));
                                             return binary(ScalarOp::kMul, x, x);
                                           },
                                       .epilogue = deviation(count_of(self, over, dtype), eps)});
  call.at.part("");
  call.map([&](const Index& i) {
    const ScalarRef value = binary(ScalarOp::kMul, cast(dtype, call.at.read(self, i)),
                                   call.at.read(scale, over.left(i)));
    return affine.apply(value, Index(i.end() - static_cast<std::ptrdiff_t>(count), i.end()));
  });
  set_statistic(call, 1, scale);
}

void group_norm(OpCall& call) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("input");
  if (self.rank() < 2) return call.invalid("a tensor of less than two dimensions");
  const DType dtype = opmath(call.type().dtype);
  const Affine affine = affine_of(call, 1, dtype);
  const double eps = call.number("eps", 1e-5);
  const IntExpr groups = call.size("group");
  if (!call.has_rank(self.rank())) return;
  const IntExpr each = at.ranges.floor_div(self.type.shape[1], groups);  // channels a group
  Shape extents = self.type.shape;
  extents.erase(extents.begin());
  extents[0] = each;
  const ScalarRef count = cast(dtype, index_number(product(extents)));
  // [N, groups] and the reduced channel and places
  const auto element = [&](const Index& i, const Index& r) {
    Index full = {i[0], i[1] * each + r[0]};
    full.insert(full.end(), r.begin() + 1, r.end());
    return cast(dtype, at.read(self, full));
  };
  const TensorType type{dtype, {self.type.shape[0], groups}};
  at.part("mean");
  const Tensor mean = at.reduce(type, {.op = ReduceOp::kSum,
                                       .accumulator = dtype,
                                       .extents = extents,
                                       .body = element,
                                       .epilogue = [&](const Index&, const ScalarRef& sum) {
                                         return binary(ScalarOp::kDiv, sum, count);
                                       }});
  at.part("deviation");
  const Tensor scale = at.reduce(type, {.op = ReduceOp::kSum,
                                        .accumulator = dtype,
                                        .extents = extents,
                                        .body =
                                            [&](const Index& i, const Index& r) {
                                              const ScalarRef gap = binary(
                                                  ScalarOp::kSub, element(i, r), at.read(mean, i));
                                              return binary(ScalarOp::kMul, gap, gap);
                                            },
                                        .epilogue = deviation(count, eps)});
  at.part("");
  call.map([&](const Index& i) {
    const Index group = {i[0], at.ranges.floor_div(i[1], each)};
    const ScalarRef gap =
        binary(ScalarOp::kSub, cast(dtype, at.read(self, i)), at.read(mean, group));
    return affine.apply(binary(ScalarOp::kMul, gap, at.read(scale, group)), {i[1]});
  });
  set_statistic(call, 1, mean);
  set_statistic(call, 2, scale);
}

struct BatchNorm {
  bool training = false;
  bool updates = false;  // outputs 3 and 4 are the new running statistics
};

void batch_norm(OpCall& call, const BatchNorm& form) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("input");
  if (self.rank() < 2) return call.invalid("a tensor of less than two dimensions");
  const DType dtype = opmath(call.type().dtype);
  const Affine affine = affine_of(call, 1, dtype);
  const double eps = call.number("eps", 1e-5);
  if (!call.has_rank(self.rank())) return;
  const auto channel_of = [](const Index& i) { return Index{i[1]}; };
  const auto normalised = [&](const ScalarRef& x, const ScalarRef& mean, const ScalarRef& scale,
                              const Index& i) {
    return affine.apply(binary(ScalarOp::kMul, binary(ScalarOp::kSub, x, mean), scale),
                        channel_of(i));
  };
  if (!form.training) {
    if (!call.given("running_mean") || !call.given("running_var"))
      return call.unsupported("inference without running statistics");
    const Tensor mean = call.tensor("running_mean"), variance = call.tensor("running_var");
    return call.map([&](const Index& i) {
      const ScalarRef scale =
          unary(ScalarOp::kRsqrt,
                binary(ScalarOp::kAdd, cast(dtype, at.read(variance, channel_of(i))), eps));
      return normalised(cast(dtype, at.read(self, i)), cast(dtype, at.read(mean, channel_of(i))),
                        scale, i);
    });
  }
  Reduced over;
  for (std::size_t d = 0; d < self.rank(); ++d) {
    if (d != 1) over.dims.push_back(d);
  }
  const TensorType type{dtype, {self.type.shape[1]}};
  const ScalarRef count = count_of(self, over, dtype);
  at.part("mean");
  const Tensor mean = mean_over(at, self, over, dtype);
  at.part("squares");
  const Tensor squares = square_sum_over(at, self, mean, over, type, {});
  const auto scale = [&](const Index& i) { return deviation(count, eps)(i, at.read(squares, i)); };
  at.part("");
  call.map([&](const Index& i) {
    return normalised(cast(dtype, at.read(self, i)), at.read(mean, channel_of(i)),
                      scale(channel_of(i)), i);
  });
  set_statistic(call, 1, mean);
  call.map(scale, 2);
  if (!form.updates) return;
  const ScalarRef momentum = call.scalar("momentum", dtype, 0.1);
  const auto moved = [&](const char* name, const Index& i, const ScalarRef& fresh) {
    const ScalarRef old = cast(dtype, at.read(call.tensor(name), i));
    return binary(ScalarOp::kAdd,
                  binary(ScalarOp::kMul, binary(ScalarOp::kSub, 1.0, momentum), old),
                  binary(ScalarOp::kMul, momentum, fresh));
  };
  call.map([&](const Index& i) { return moved("running_mean", i, at.read(mean, i)); }, 3);
  call.map(
      [&](const Index& i) {
        return moved("running_var", i,
                     binary(ScalarOp::kDiv, at.read(squares, i), binary(ScalarOp::kSub, count, 1)));
      },
      4);
}

LowerFunction batch_norm_of(bool updates) {
  return [updates](OpCall& call) {
    batch_norm(call, {.training = call.flag("training"), .updates = updates});
  };
}

// v * g / |v|, the norm over all dimensions but one.
void weight_norm(OpCall& call) {
  Lowering& at = call.at;
  const Tensor direction = call.tensor("v"), length = call.tensor("g");
  const std::size_t dim = call.dim("dim", direction.rank());
  if (length.rank() != direction.rank()) return call.invalid("g does not fit v");
  if (!call.has_rank(direction.rank())) return;
  const DType dtype = opmath(call.type().dtype);
  Reduced over;
  for (std::size_t d = 0; d < direction.rank(); ++d) {
    if (d != dim) over.dims.push_back(d);
  }
  at.part("norm");
  const Tensor norm = at.reduce(
      {dtype, over.kept_shape(direction)},
      {.op = ReduceOp::kSum,
       .accumulator = dtype,
       .extents = over.extents(direction),
       .body =
           [&](const Index& i, const Index& r) {
             const ScalarRef x = cast(dtype, at.read(direction, over.join(i, r)));
             return binary(ScalarOp::kMul, x, x);
           },
       .epilogue = [](const Index&, const ScalarRef& sum) { return unary(ScalarOp::kSqrt, sum); }});
  at.part("");
  const Rule scale = call.operand(length, call.type().shape, dtype);
  call.map([&](const Index& i) {
    return binary(ScalarOp::kMul, cast(dtype, at.read(direction, i)),
                  binary(ScalarOp::kDiv, scale(i), at.read(norm, over.left(i))));
  });
  set_statistic(call, 1, norm);
}

}  // namespace

void add_norms(LowerTable& table) {
  table["native_layer_norm.default"] = layer_norm;
  table["_fused_rms_norm.default"] = table["rms_norm.default"] = rms_norm;
  table["native_group_norm.default"] = group_norm;
  table["native_batch_norm.default"] = table["_native_batch_norm_legit.default"] =
      table["_native_batch_norm_legit.no_stats"] = batch_norm_of(false);
  table["_native_batch_norm_legit_functional.default"] = batch_norm_of(true);
  table["_native_batch_norm_legit_no_training.default"] = [](OpCall& call) {
    batch_norm(call, {});
  };
  table["_weight_norm_interface.default"] = weight_norm;
}

}  // namespace kw::writer
