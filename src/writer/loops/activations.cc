// Activations. Formulas are those of torch.nn.functional's documentation.
#include <cmath>

#include "base/text.h"
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

ScalarRef add(const ScalarRef& a, const ScalarRef& b) {
  return binary(ScalarOp::kAdd, a, b);
}
ScalarRef mul(const ScalarRef& a, const ScalarRef& b) {
  return binary(ScalarOp::kMul, a, b);
}
ScalarRef mul(const ScalarRef& a, double b) {
  return binary(ScalarOp::kMul, a, b);
}

LowerFunction of_element(const std::function<ScalarRef(const ScalarRef&)>& body) {
  return [body](OpCall& call) {
    const Rule self = call.operand("self", opmath(call.type().dtype));
    call.map([&](const Index& i) { return body(self(i)); });
  };
}

ScalarRef sigmoid(const ScalarRef& x) {
  return unary(ScalarOp::kSigmoid, x);
}

void gelu(OpCall& call) {
  const std::string form = call.text("approximate");
  if (form == "tanh") {
    return of_element([](const ScalarRef& x) {
      const ScalarRef cube = mul(mul(x, x), x);
      // (1 + tanh(u)) / 2 = sigmoid(2 u), of which nothing cancels where u is far below 0.
      const ScalarRef twice = mul(add(x, mul(cube, 0.044715)), 2 * std::sqrt(2 / M_PI));
      return mul(x, sigmoid(twice));
    })(call);
  }
  if (form != "none" && !form.empty())
    return call.unsupported("approximate=" + printable(form, 40));
  of_element([](const ScalarRef& x) {
    return mul(mul(x, 0.5),
               binary(ScalarOp::kAdd, 1.0, unary(ScalarOp::kErf, mul(x, std::sqrt(0.5)))));
  })(call);
}

// x tanh(log(1 + n)), n = exp(x), is x m / (m + 2) with m = n (n + 2); 1 beyond 20 in float64 too.
ScalarRef mish(const ScalarRef& x) {
  const ScalarRef n = unary(ScalarOp::kExp, binary(ScalarOp::kMin, x, 20));
  const ScalarRef m = mul(n, binary(ScalarOp::kAdd, n, 2));
  return mul(x, binary(ScalarOp::kDiv, m, binary(ScalarOp::kAdd, m, 2)));
}

void softplus(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const ScalarRef beta = call.scalar("beta", dtype, 1), most = call.scalar("threshold", dtype, 20);
  of_element([=](const ScalarRef& x) {
    const ScalarRef scaled = mul(x, beta);
    return select(
        binary(ScalarOp::kGreater, scaled, most), x,
        binary(ScalarOp::kDiv, unary(ScalarOp::kLog1p, unary(ScalarOp::kExp, scaled)), beta));
  })(call);
}

// x > 0: scale * x, else alpha * scale * (exp(input_scale * x) - 1).
void elu_of(OpCall& call, double alpha, double scale, double input_scale) {
  of_element([=](const ScalarRef& x) {
    const auto times = [](const ScalarRef& value, double factor) {
      return factor == 1 ? value : mul(value, factor);
    };
    return select(binary(ScalarOp::kGreater, x, 0), times(x, scale),
                  times(unary(ScalarOp::kExpm1, times(x, input_scale)), alpha * scale));
  })(call);
}

void leaky_relu(OpCall& call) {
  const ScalarRef slope = call.scalar("negative_slope", opmath(call.type().dtype), 0.01);
  of_element([=](const ScalarRef& x) {
    return select(binary(ScalarOp::kGreater, x, 0), x, mul(x, slope));
  })(call);
}

void hardtanh(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const ScalarRef low = call.scalar("min_val", dtype, -1), high = call.scalar("max_val", dtype, 1);
  of_element([=](const ScalarRef& x) {
    return binary(ScalarOp::kMin, binary(ScalarOp::kMax, x, low), high);
  })(call);
}

ScalarRef hardsigmoid(const ScalarRef& x) {
  const ScalarRef cut =
      binary(ScalarOp::kMin, binary(ScalarOp::kMax, binary(ScalarOp::kAdd, x, 3), 0), 6);
  return binary(ScalarOp::kDiv, cut, 6);
}

void hardshrink(OpCall& call) {
  const double width = call.number("lambd", 0.5);
  of_element([=](const ScalarRef& x) {
    const ScalarRef inside = binary(ScalarOp::kLessEqual, unary(ScalarOp::kAbs, x), width);
    return select(inside, writer::number(x->dtype, 0), x);
  })(call);
}

void softshrink(OpCall& call) {
  const double width = call.number("lambd", 0.5);
  of_element([=](const ScalarRef& x) {
    return select(
        binary(ScalarOp::kGreater, x, width), binary(ScalarOp::kSub, x, width),
        select(binary(ScalarOp::kLess, x, -width), binary(ScalarOp::kAdd, x, width), mul(x, 0)));
  })(call);
}

void threshold(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const ScalarRef limit = call.scalar("threshold", dtype), value = call.scalar("value", dtype);
  of_element([=](const ScalarRef& x) {
    return select(binary(ScalarOp::kLessEqual, x, limit), value, x);
  })(call);
}

void prelu(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype);
  Tensor slopes = call.tensor("weight");
  // prelu.default has one slope a channel, the kernel one that broadcasts.
  if (call.op() == "prelu.default" && slopes.rank() == 1 && call.type().shape.size() > 2) {
    Shape shape(call.type().shape.size() - 1, 1);
    shape[0] = slopes.type.shape[0];
    slopes = reshaped(call.at, slopes, shape);
  }
  const Rule weight = call.operand(slopes, call.type().shape, dtype);
  call.map([&](const Index& i) {
    const ScalarRef x = self(i);
    return select(binary(ScalarOp::kGreater, x, 0), x, mul(x, weight(i)));
  });
}

void glu(OpCall& call) {
  const Tensor self = call.tensor("self");
  const std::size_t dim = call.dim("dim", self.rank());
  if (self.rank() == 0) return call.invalid("a tensor without dimensions");
  if (!call.has_rank(self.rank())) return;
  const DType dtype = opmath(call.type().dtype);
  const IntExpr half = call.type().shape[dim];
  call.map([&](const Index& i) {
    Index gate = i;
    gate[dim] = gate[dim] + half;
    return mul(cast(dtype, call.at.read(self, i)), sigmoid(cast(dtype, call.at.read(self, gate))));
  });
}

ScalarRef log_sigmoid(const ScalarRef& x) {
  const ScalarRef small = unary(ScalarOp::kExp, unary(ScalarOp::kNeg, unary(ScalarOp::kAbs, x)));
  return binary(ScalarOp::kSub, binary(ScalarOp::kMin, x, 0), unary(ScalarOp::kLog1p, small));
}

void native_dropout(OpCall& call) {
  if (call.flag("train")) return call.unsupported("train");
  call.set(call.tensor("input"));
  call.map([](const Index&) { return boolean(true); }, 1);
}

}  // namespace

void add_activations(LowerTable& table) {
  table["relu.default"] =
      of_element([](const ScalarRef& x) { return binary(ScalarOp::kMax, x, 0); });
  table["relu6.default"] = of_element(
      [](const ScalarRef& x) { return binary(ScalarOp::kMin, binary(ScalarOp::kMax, x, 0), 6); });
  table["gelu.default"] = gelu;
  table["silu.default"] = of_element([](const ScalarRef& x) { return mul(x, sigmoid(x)); });
  table["mish.default"] = of_element(mish);
  table["softplus.default"] = softplus;
  table["elu.default"] = [](OpCall& call) {
    elu_of(call, call.number("alpha", 1), call.number("scale", 1), call.number("input_scale", 1));
  };
  table["celu.default"] = [](OpCall& call) {
    const double alpha = call.number("alpha", 1);
    elu_of(call, alpha, 1, 1 / alpha);
  };
  table["selu.default"] = [](OpCall& call) {
    elu_of(call, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
  };
  table["leaky_relu.default"] = leaky_relu;
  table["hardtanh.default"] = hardtanh;
  table["hardsigmoid.default"] = of_element(hardsigmoid);
  table["hardswish.default"] =
      of_element([](const ScalarRef& x) { return mul(x, hardsigmoid(x)); });
  table["hardshrink.default"] = hardshrink;
  table["softshrink.default"] = softshrink;
  table["threshold.default"] = threshold;
  table["_prelu_kernel.default"] = table["prelu.default"] = prelu;
  table["glu.default"] = glu;
  table["log_sigmoid.default"] = table["log_sigmoid_forward.default"] = of_element(log_sigmoid);
  table["native_dropout.default"] = native_dropout;
}

}  // namespace kw::writer
