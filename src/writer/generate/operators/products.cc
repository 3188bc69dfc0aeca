// Products with vectors, diagonals, triangles, and of tensors with more dimensions.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

using tensor::DType;

std::int64_t side(Builder& b, std::int64_t most) {
  return b.size(
      2, std::max<std::int64_t>(2, std::min(most, static_cast<std::int64_t>(std::cbrt(
                                                      static_cast<double>(b.limits.max_work))))));
}

// A [M, K] times v [K] or [K, 1]
void matrix_vector(Builder& b) {
  const std::int64_t k = b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / 4, 4, 1000000));
  const Dim rows_dim = b.axis(
                "M", b.size(1, std::clamp<std::int64_t>(b.limits.max_elements / k, 1, 16384)),
                false),
            depth_dim = b.axis("K", k, false);
  const bool column = b.flag("column", b.chance(0.6));
  const ValueId a = b.input("A", {rows_dim, depth_dim}).id;
  const ValueId v = b.input("B", column ? Dims{depth_dim, Dim{1, 1}} : Dims{depth_dim}).id;
  const Dims tall = {depth_dim, Dim{1, 1}}, made = {rows_dim, Dim{1, 1}};
  const ValueId right = column ? v : b.call("unsqueeze.default", {v, 1}, tall);
  ValueId out = b.call("mm.default", {a, right}, made);
  const double high = 5 * std::sqrt(static_cast<double>(k));
  if (!column) out = b.call("view.default", {out, Dims{rows_dim}}, {rows_dim});
  b.result(out, column ? made : Dims{rows_dim}).range(-high, high);
}

// diag(a) times B
void diagonal_matmul(Builder& b) {
  const std::int64_t n = side(b, 4096);
  const Dim columns_dim = b.axis("N", n, false),
            rows_dim =
                b.axis("M", b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / n, 2, 4096)),
                       false);
  const ValueId a = b.input("A", {columns_dim}).id;
  const ValueId other = b.input("B", {columns_dim, rows_dim}).id;
  const ValueId tall = b.call("unsqueeze.default", {a, 1}, {columns_dim, Dim{1, 1}});
  b.result(b.call("mul.Tensor", {tall, other}, {columns_dim, rows_dim}), {columns_dim, rows_dim})
      .range(-9, 9);
}

// The product of two triangular matrices, or the triangle of a product
void triangular_matmul(Builder& b) {
  const std::int64_t n = side(
      b, std::min<std::int64_t>(2048, static_cast<std::int64_t>(
                                          std::sqrt(static_cast<double>(b.limits.max_elements)))));
  const Dim columns_dim = b.axis("N", n, false);
  const bool lower = b.flag("lower", b.chance(0.5));
  b.text("tri", lower ? "tril" : "triu");
  const ValueId a = b.input("A", {columns_dim, columns_dim}).id;
  const ValueId other = b.input("B", {columns_dim, columns_dim}).id;
  const Dims line = {columns_dim}, column = {columns_dim, Dim{1, 1}},
             square = {columns_dim, columns_dim};
  const ValueId ramp =
      b.call("arange.start_step", {0, columns_dim, 1, DType::kInt64}, line, DType::kInt64);
  const ValueId down = b.call("unsqueeze.default", {ramp, 1}, column, DType::kInt64);
  const ValueId kept =
      b.call(lower ? "le.Tensor" : "ge.Tensor", {ramp, down}, square, DType::kBool);
  const ValueId zero = b.call("full.default", {std::vector<IntExpr>{}, 0.0}, {});
  const ValueId product = b.call("mm.default", {a, other}, square);
  const double high = 5 * std::sqrt(static_cast<double>(n));
  b.result(b.call("where.self", {kept, product, zero}, square), square).range(-high, high);
}

void outer_product(Builder& b) {
  const std::int64_t m = b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / 4, 2, 8192));
  const Dim rows_dim = b.axis("M", m, false),
            columns_dim =
                b.axis("N", b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / m, 2, 8192)),
                       false);
  const ValueId a = b.input("a", {rows_dim}).id;
  const ValueId other = b.input("b", {columns_dim}).id;
  const ValueId tall = b.call("unsqueeze.default", {a, 1}, {rows_dim, Dim{1, 1}});
  b.result(b.call("mul.Tensor", {tall, other}, {rows_dim, columns_dim}), {rows_dim, columns_dim})
      .range(-9, 9);
}

// A [B, I, J, L] times B [L, K]
void tensor_matmul(Builder& b) {
  const std::int64_t l = b.size(2, 512);
  const std::int64_t k = b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / 8, 2, 512));
  std::int64_t rows = std::max<std::int64_t>(
      1, std::min(b.limits.max_elements / std::max(l, k), b.limits.max_work / (l * k)));
  const std::int64_t batch = b.size(1, std::clamp<std::int64_t>(rows, 1, 16));
  rows = std::max<std::int64_t>(1, rows / batch);
  const std::int64_t i = b.size(1, std::clamp<std::int64_t>(rows, 1, 256));
  rows = std::max<std::int64_t>(1, rows / i);
  const Dim batch_dim = b.axis("b", batch, false), i_dim = b.axis("i", i, false),
            j_dim = b.axis("j", b.size(1, std::min<std::int64_t>(rows, 512)), false),
            l_dim = b.axis("l", l, false), depth_dim = b.axis("k", k, false);
  const ValueId a = b.input("A", {batch_dim, i_dim, j_dim, l_dim}).id;
  const ValueId other = b.input("B", {l_dim, depth_dim}).id;
  const Dim flat = product({batch_dim, i_dim, j_dim}, 0, 3);
  const ValueId in = b.call("view.default", {a, Dims{flat, l_dim}}, {flat, l_dim});
  const ValueId made = b.call("mm.default", {in, other}, {flat, depth_dim});
  const Dims out = {batch_dim, i_dim, j_dim, depth_dim};
  const double high = 5 * std::sqrt(static_cast<double>(l));
  b.result(b.call("view.default", {made, out}, out), out).range(-high, high);
}

bool is_gram_base(const Value& x, const Limits& limits) {
  return x.dtype == DType::kFloat32 && x.shape.size() == 2 && x.magnitude() < 100 &&
         x.shape[0].n * x.shape[0].n <= limits.max_elements &&
         x.shape[0].n * elements(x.shape) <= limits.max_work && x.shape[0].n >= 2;
}
// x times itself transposed
void gram(Builder& b) {
  const Dims shape = b.x().shape, turned = {shape[1], shape[0]}, square = {shape[0], shape[0]};
  const ValueId other = b.call("permute.default", {b.x(), std::vector<IntExpr>{1, 0}}, turned);
  const double n = static_cast<double>(shape[1].n), high = b.x().magnitude();
  b.result(b.call("mm.default", {b.x(), other}, square), square)
      .range(-high * high * n, high * high * n);
}

OpSpec matrix_vector_operator() {
  return {.name = "matrix_vector",
          .tier = 2,
          .domain = Domain::kNone,
          .build = matrix_vector,
          .words = "the product of a matrix and a vector,",
          .ways = {{"", "torch.matmul({x}, {y})"},
                   {"", "{x} @ {y}"},
                   {"", "torch.mv({x}, {y})", "!column"},
                   {"", "torch.mm({x}, {y})", "column"},
                   {"", "({x} * {y}).sum(dim=1)", "!column"},
                   {"", R"(torch.einsum("ij,jk->ik", {x}, {y}))", "column"},
                   {"", "{x}.matmul({y})"}}};
}

OpSpec diagonal_matmul_operator() {
  return {.name = "diagonal_matmul",
          .weight = 0.7,
          .tier = 2,
          .domain = Domain::kNone,
          .build = diagonal_matmul,
          .words = "the product diag(a) B of a vector a and a matrix B,",
          .ways = {{"", "torch.diag({x}) @ {y}"},
                   {"", "torch.matmul(torch.diag({x}), {y})"},
                   {"", "{x}.unsqueeze(1) * {y}"},
                   {"", R"(torch.einsum("i,ij->ij", {x}, {y}))"},
                   {"", "torch.diag_embed({x}) @ {y}"},
                   {"", "torch.mul({x}[:, None], {y})"}}};
}

OpSpec triangular_matmul_operator() {
  return {.name = "triangular_matmul",
          .weight = 0.8,
          .tier = 2,
          .domain = Domain::kNone,
          .build = triangular_matmul,
          .words = "the {tri} of a product of two matrices,",
          .ways = {{"", "torch.{tri}(torch.matmul({x}, {y}))"},
                   {"", "torch.{tri}({x} @ {y})"},
                   {"", "({x} @ {y}).{tri}()"},
                   {"", "torch.mm({x}, {y}).{tri}()"},
                   {"", "({x} @ {y}) * torch.ones_like({x}).{tri}()"},
                   {"", R"({t:c} = torch.matmul({x}, {y})
torch.{tri}({t:c}, diagonal=0))"}}};
}

OpSpec outer_product_operator() {
  return {.name = "outer_product",
          .weight = 0.5,
          .domain = Domain::kNone,
          .build = outer_product,
          .words = "the outer product",
          .ways = {{"", "torch.outer({x}, {y})"},
                   {"", "torch.ger({x}, {y})"},
                   {"", "{x}[:, None] * {y}[None, :]"},
                   {"", R"(torch.einsum("i,j->ij", {x}, {y}))"},
                   {"", "{x}.unsqueeze(1) @ {y}.unsqueeze(0)"},
                   {"", "{x}.view(-1, 1) * {y}"}}};
}

OpSpec tensor_matmul_operator() {
  return {
      .name = "tensor_matmul",
      .weight = 0.8,
      .tier = 2,
      .domain = Domain::kNone,
      .build = tensor_matmul,
      .words = "the product of a four-dimensional tensor and a matrix along the last dimension,",
      .ways = {{"", R"(torch.einsum("bijl,lk->bijk", {x}, {y}))"},
               {"", "torch.matmul({x}, {y})"},
               {"", "{x} @ {y}"},
               {"", "torch.tensordot({x}, {y}, dims=1)"},
               {"", "F.linear({x}, {y}.t())"}}};
}

OpSpec gram_operator() {
  return {.name = "gram",
          .weight = 0.6,
          .tier = 2,
          .domain = Domain::kMatrix,
          .fits = is_gram_base,
          .build = gram,
          .words = "the product with its own transpose",
          .ways = {{"", "{x} @ {x}.T"},
                   {"", "torch.matmul({x}, {x}.t())"},
                   {"", "torch.mm({x}, {x}.transpose(0, 1))"},
                   {"", R"(torch.einsum("ik,jk->ij", {x}, {x}))"},
                   {"", "F.linear({x}, {x})"}}};
}

}  // namespace

std::vector<OpSpec> product_operators() {
  return {matrix_vector_operator(), diagonal_matmul_operator(), triangular_matmul_operator(),
          outer_product_operator(), tensor_matmul_operator(),   gram_operator()};
}

}  // namespace kw::writer::generate
