// Matrix products and distances: sums of products of two tensors' elements.
#include <cmath>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

using Epilogue = std::function<ScalarRef(const Index&, const ScalarRef&)>;

// The product of the last two dimensions, [batch.., M, K] x [batch.., K, N]; a batch of 1 serves
// every one.
void multiply(OpCall& call, const Tensor& a, const Tensor& b, const Epilogue& epilogue = {}) {
  Lowering& at = call.at;
  if (a.rank() < 2 || b.rank() < 2) return call.invalid("a matrix of less than two dimensions");
  const DType dtype = opmath(call.type().dtype);
  const auto row_of = [](const Index& i) { return i[i.size() - 2]; };
  const auto element = [&](const Tensor& of, const Index& i, const IntExpr& row,
                           const IntExpr& column) {
    Index full;
    const std::size_t batches = of.rank() - 2;
    for (std::size_t d = 0; d < batches && i.size() >= batches + 2; ++d)
      full.push_back(of.type.shape[d].constant() == 1 ? IntExpr() : i[i.size() - 2 - batches + d]);
    full.push_back(row);
    full.push_back(column);
    return cast(dtype, at.read(of, full));
  };
  if (call.type().shape.size() < 2) return call.invalid("a result of less than two dimensions");
  call.set(at.reduce(call.type(), {.op = ReduceOp::kSum,
                                   .accumulator = dtype,
                                   .extents = {a.type.shape.back()},
                                   .body =
                                       [&](const Index& i, const Index& r) {
                                         return binary(ScalarOp::kMul,
                                                       element(a, i, row_of(i), r[0]),
                                                       element(b, i, r[0], i.back()));
                                       },
                                   .epilogue = epilogue}));
}

void mm(OpCall& call, const char* a, const char* b) {
  multiply(call, call.tensor(a), call.tensor(b));
}

// beta * self + alpha * what was summed.
Epilogue added(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const bool plain = call.is("alpha", 1) && call.is("beta", 1), none = call.is("beta", 0);
  const ScalarRef alpha = call.scalar("alpha", dtype, 1), beta = call.scalar("beta", dtype, 1);
  const Rule self = call.operand("self", dtype);
  return [=](const Index& i, const ScalarRef& sum) {
    ScalarRef product = plain ? sum : binary(ScalarOp::kMul, alpha, sum);
    if (none) return product;
    const ScalarRef start = self(i);
    return binary(ScalarOp::kAdd, product, plain ? start : binary(ScalarOp::kMul, beta, start));
  };
}

void add_product(OpCall& call, const char* a, const char* b) {
  const Epilogue epilogue = added(call);
  if (!call.failed()) multiply(call, call.tensor(a), call.tensor(b), epilogue);
}

// A sum over one dimension of what `body` makes of a place and a step.
void sum_over(OpCall& call, const IntExpr& extent,
              const std::function<ScalarRef(const Index&, const IntExpr&)>& body,
              const Epilogue& epilogue = {}, ReduceOp op = ReduceOp::kSum) {
  if (call.failed()) return;
  call.set(call.at.reduce(call.type(),
                          {.op = op,
                           .accumulator = opmath(call.type().dtype),
                           .extents = {extent},
                           .body = [&](const Index& i, const Index& r) { return body(i, r[0]); },
                           .epilogue = epilogue}));
}

void matrix_vector(OpCall& call, const char* matrix_name, const char* vector_name,
                   const Epilogue& epilogue = {}) {
  const Tensor matrix = call.tensor(matrix_name), vector = call.tensor(vector_name);
  if (matrix.rank() != 2 || vector.rank() != 1) return call.invalid("no matrix and vector");
  if (!call.has_rank(1)) return;
  const DType dtype = opmath(call.type().dtype);
  sum_over(
      call, vector.type.shape[0],
      [&](const Index& i, const IntExpr& r) {
        return binary(ScalarOp::kMul, cast(dtype, call.at.read(matrix, {i[0], r})),
                      cast(dtype, call.at.read(vector, {r})));
      },
      epilogue);
}

void dot(OpCall& call, const char* other_name) {
  const Tensor a = call.tensor("self"), b = call.tensor(other_name);
  if (a.rank() != 1 || b.rank() != 1) return call.invalid("no two vectors");
  const DType dtype = opmath(call.type().dtype);
  sum_over(call, a.type.shape[0], [&](const Index&, const IntExpr& r) {
    return binary(ScalarOp::kMul, cast(dtype, call.at.read(a, {r})),
                  cast(dtype, call.at.read(b, {r})));
  });
}

void linear(OpCall& call) {
  const Tensor input = call.tensor("input"), weight = call.tensor("weight");
  if (input.rank() < 1 || weight.rank() != 2)
    return call.unsupported("weight without two dimensions");
  if (!call.has_rank(input.rank())) return;
  const DType dtype = opmath(call.type().dtype);
  Epilogue epilogue;
  if (call.given("bias")) {
    const Rule bias = call.operand("bias", dtype);
    epilogue = [bias](const Index& i, const ScalarRef& sum) {
      return binary(ScalarOp::kAdd, sum, bias(i));
    };
  }
  sum_over(
      call, input.type.shape.back(),
      [&](const Index& i, const IntExpr& r) {
        Index full = i;
        full.back() = r;
        return binary(ScalarOp::kMul, cast(dtype, call.at.read(input, full)),
                      cast(dtype, call.at.read(weight, {i.back(), r})));
      },
      epilogue);
}

void matmul(OpCall& call) {
  const Tensor a = call.tensor("self"), b = call.tensor("other");
  if (a.rank() == 1 && b.rank() == 1) return dot(call, "other");
  if (a.rank() == 2 && b.rank() == 1) return matrix_vector(call, "self", "other");
  if (a.rank() < 2 || b.rank() < 2) return call.unsupported("a vector in a batched product");
  multiply(call, a, b);
}

void outer_added(OpCall& call) {
  const Epilogue epilogue = added(call);
  if (call.tensor("vec1").rank() != 1) return call.invalid("vec1 is no vector");
  const Rule column = call.operand(unsqueezed(call.tensor("vec1"), 1), call.type().shape,
                                   opmath(call.type().dtype)),
             row = call.operand("vec2", opmath(call.type().dtype));
  call.map([&](const Index& i) { return epilogue(i, binary(ScalarOp::kMul, column(i), row(i))); });
}

void trace(OpCall& call) {
  const Tensor self = call.tensor("self");
  if (self.rank() != 2) return call.invalid("no matrix");
  sum_over(call, call.at.ranges.min(self.type.shape[0], self.type.shape[1]),
           [&](const Index&, const IntExpr& r) {
             return cast(opmath(call.type().dtype), call.at.read(self, {r, r}));
           });
}

// torch.cdist: p-norms of differences of rows.
void distances(OpCall& call) {
  Lowering& at = call.at;
  const Tensor a = call.tensor("x1"), b = call.tensor("x2");
  const double p = call.number("p", 2);
  const DType dtype = opmath(call.type().dtype);
  if (a.rank() != b.rank() || a.rank() < 2) return call.invalid("x1 and x2 do not fit");
  const bool largest = std::isinf(p);
  if (p == 0) return call.unsupported("p=0");
  if (!call.has_rank(a.rank())) return;
  sum_over(
      call, a.type.shape.back(),
      [&](const Index& i, const IntExpr& r) {
        Index left = i, right = i;
        right[right.size() - 2] = i.back();
        left.back() = right.back() = r;
        for (std::size_t d = 0; d + 2 < left.size(); ++d) {
          if (a.type.shape[d].constant() == 1) left[d] = 0;
          if (b.type.shape[d].constant() == 1) right[d] = 0;
        }
        const ScalarRef gap =
            binary(ScalarOp::kSub, cast(dtype, at.read(a, left)), cast(dtype, at.read(b, right)));
        if (p == 2) return binary(ScalarOp::kMul, gap, gap);
        const ScalarRef size = unary(ScalarOp::kAbs, gap);
        return p == 1 || largest ? size : binary(ScalarOp::kPow, size, p);
      },
      [&](const Index&, const ScalarRef& sum) {
        if (p == 1 || largest) return sum;
        return p == 2 ? unary(ScalarOp::kSqrt, sum) : binary(ScalarOp::kPow, sum, 1 / p);
      },
      largest ? ReduceOp::kMax : ReduceOp::kSum);
}

// What nn.Bilinear is made of: the sum over `sumdim` of the product of three tensors, each of which
// is broadcast along the dimensions that its `expand` inserts.
void trilinear(OpCall& call) {
  struct Factor {
    Tensor tensor;
    std::vector<bool> inserted;  // by the product's dimensions
  };
  std::vector<Factor> factors;
  Shape shape;  // of the product
  for (const auto& [name, expand] :
       {std::pair("i1", "expand1"), {"i2", "expand2"}, {"i3", "expand3"}}) {
    Factor factor{call.tensor(name), {}};
    const std::size_t inserted = call.sizes(expand).size(), rank = factor.tensor.rank() + inserted;
    if (shape.empty()) shape.resize(rank, IntExpr(1));
    if (rank != shape.size()) return call.invalid("three tensors of different ranks");
    factor.inserted.resize(rank);
    if (inserted > 0) {
      for (std::size_t d : call.dims(expand, rank)) factor.inserted[d] = true;
    }
    for (std::size_t d = 0, own = 0; d < rank; ++d) {
      if (factor.inserted[d]) continue;
      const IntExpr& extent = factor.tensor.type.shape[own++];
      if (extent.constant() != 1) shape[d] = extent;
    }
    factors.push_back(std::move(factor));
  }
  if (call.failed()) return;
  std::vector<bool> summed(shape.size());
  Shape extents;
  if (!call.sizes("sumdim").empty()) {
    for (std::size_t d : call.dims("sumdim", shape.size())) summed[d] = true;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (summed[d]) extents.push_back(shape[d]);
  }
  if (!call.has_rank(shape.size() - extents.size())) return;
  const DType dtype = opmath(call.type().dtype);
  const auto element = [&](const Index& i, const Index& r) {
    ScalarRef product;
    for (const Factor& factor : factors) {
      Index own;
      for (std::size_t d = 0, kept = 0, reduced = 0; d < shape.size(); ++d) {
        const IntExpr& place = summed[d] ? r[reduced++] : i[kept++];
        if (factor.inserted[d]) continue;
        own.push_back(factor.tensor.type.shape[own.size()].constant() == 1 ? IntExpr() : place);
      }
      const ScalarRef value = cast(dtype, call.at.read(factor.tensor, own));
      product = product ? binary(ScalarOp::kMul, product, value) : value;
    }
    return product;
  };
  call.set(call.at.reduce(
      call.type(),
      {.op = ReduceOp::kSum, .accumulator = dtype, .extents = extents, .body = element}));
}

}  // namespace

void add_products(LowerTable& table) {
  table["mm.default"] = table["bmm.default"] = [](OpCall& call) { mm(call, "self", "mat2"); };
  table["addmm.default"] = [](OpCall& call) { add_product(call, "mat1", "mat2"); };
  table["baddbmm.default"] = [](OpCall& call) { add_product(call, "batch1", "batch2"); };
  table["mv.default"] = [](OpCall& call) { matrix_vector(call, "self", "vec"); };
  table["addmv.default"] = [](OpCall& call) {
    const Epilogue epilogue = added(call);
    matrix_vector(call, "mat", "vec", epilogue);
  };
  table["dot.default"] = [](OpCall& call) { dot(call, "tensor"); };
  table["vdot.default"] = [](OpCall& call) { dot(call, "other"); };
  table["linear.default"] = linear;
  table["matmul.default"] = matmul;
  table["addr.default"] = outer_added;
  table["trace.default"] = trace;
  table["_trilinear.default"] = trilinear;
  table["_cdist_forward.default"] = table["cdist.default"] = distances;
  table["_euclidean_dist.default"] = distances;
}

}  // namespace kw::writer
