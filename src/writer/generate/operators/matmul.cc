// Matrix products.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_rows(const Value& x, const Limits& limits) {
  return x.dtype == tensor::DType::kFloat32 && x.shape.size() >= 2 && x.shape.back().n >= 2 &&
         x.shape.back().n <= 65536 && x.magnitude() < 1e4 &&
         elements(x.shape) * 2 <= limits.max_work;
}

// Columns of a product of `rows` x `k`, within the limits; the other factor has them `copies`
// times.
std::int64_t columns_for(Builder& b, std::int64_t rows, std::int64_t k, std::int64_t copies = 1) {
  const std::int64_t of_factor = std::min(std::int64_t{1} << 24, 4 * b.limits.max_elements);
  const std::int64_t most =
      std::max<std::int64_t>(1, std::min({std::int64_t{16384}, b.limits.max_work / (rows * k),
                                          b.limits.max_elements / rows, of_factor / (k * copies)}));
  return b.size(std::min<std::int64_t>(8, most), most);
}

// x [..., K] times weight [N, K] transposed, plus bias
void linear(Builder& b) {
  Dims shape = b.x().shape;
  const Dim k = shape.back();
  const std::int64_t rows = elements(shape) / k.n;
  const Dim n = b.axis("out_features", columns_for(b, rows, k.n));
  const bool bias = b.flag("bias", b.chance(0.75), true);
  b.size_of("in_features", k);
  b.size_of("out_features", n);
  const ValueId weight = b.weight("weight", {n, k}, Start::kWeight, k).id;
  const ValueId turned = b.call("permute.default", {weight, std::vector<IntExpr>{1, 0}}, {k, n});
  const ValueId shift = bias ? b.weight("bias", {n}, Start::kWeight, k).id : ValueId{};
  const Dim flat = product(shape, 0, shape.size() - 1);
  const bool wide = shape.size() > 2;
  b.flag("wide", wide);
  const ValueId in = wide ? b.call("view.default", {b.x(), Dims{flat, k}}, {flat, k}) : b.x().id;
  ValueId out = bias ? b.call("addmm.default", {shift, in, turned}, {flat, n})
                     : b.call("mm.default", {in, turned}, {flat, n});
  shape.back() = n;
  if (wide) out = b.call("view.default", {out, shape}, shape);
  const double high = b.x().magnitude();
  b.result(out, shape).range(-high, high);
}

// A [M, K] times B [K, N], either of them perhaps given transposed
void matmul(Builder& b) {
  const std::int64_t m = b.size(1, 8192);
  const std::int64_t k = b.size(1, std::min<std::int64_t>(65536, b.limits.max_elements / m));
  const std::int64_t n = columns_for(b, m, k);
  const Dim rows_dim = b.axis("M", m, false), k_dim = b.axis("K", k, false),
            columns_dim = b.axis("N", n, false);
  const bool turn_a = b.flag("turn_a", b.chance(0.2)), turn_b = b.flag("turn_b", b.chance(0.25));
  b.flag("plain", !turn_a && !turn_b);
  const ValueId a = b.input("A", turn_a ? Dims{k_dim, rows_dim} : Dims{rows_dim, k_dim}).id;
  const ValueId other =
      b.input("B", turn_b ? Dims{columns_dim, k_dim} : Dims{k_dim, columns_dim}).id;
  const std::vector<IntExpr> turn = {1, 0};
  b.text("a", turn_a ? "{x}.T" : "{x}");
  b.text("b", turn_b ? "{y}.T" : "{y}");
  b.text("ai", turn_a ? "ki" : "ik");
  b.text("bi", turn_b ? "jk" : "kj");
  const ValueId left = turn_a ? b.call("permute.default", {a, turn}, {rows_dim, k_dim}) : a;
  const ValueId right =
      turn_b ? b.call("permute.default", {other, turn}, {k_dim, columns_dim}) : other;
  b.result(b.call("mm.default", {left, right}, {rows_dim, columns_dim}), {rows_dim, columns_dim})
      .range(-5 * std::sqrt(static_cast<double>(k)), 5 * std::sqrt(static_cast<double>(k)));
}

// A [B, M, K] times B [B, K, N]
void batched_matmul(Builder& b) {
  const std::int64_t batch = b.size(2, 128);
  const std::int64_t m =
      b.size(1, std::clamp<std::int64_t>(b.limits.max_elements / batch, 1, 1024));
  const std::int64_t k =
      b.size(1, std::clamp<std::int64_t>(b.limits.max_elements / (m * batch), 1, 4096));
  const std::int64_t n = std::max<std::int64_t>(1, columns_for(b, batch * m, k, batch) / 4);
  const Dim batch_dim = b.axis("batch_size", batch, false), rows_dim = b.axis("m", m, false),
            k_dim = b.axis("k", k, false), columns_dim = b.axis("n", n, false);
  const bool turn_b = b.flag("turn_b", b.chance(0.3));
  const ValueId a = b.input("A", {batch_dim, rows_dim, k_dim}).id;
  const ValueId other = b.input("B", turn_b ? Dims{batch_dim, columns_dim, k_dim}
                                            : Dims{batch_dim, k_dim, columns_dim})
                            .id;
  b.text("b", turn_b ? "{y}.transpose(1, 2)" : "{y}");
  b.text("bi", turn_b ? "bjk" : "bkj");
  const ValueId right = turn_b ? b.call("permute.default", {other, std::vector<IntExpr>{0, 2, 1}},
                                        {batch_dim, k_dim, columns_dim})
                               : other;
  b.result(b.call("bmm.default", {a, right}, {batch_dim, rows_dim, columns_dim}),
           {batch_dim, rows_dim, columns_dim})
      .range(-5 * std::sqrt(static_cast<double>(k)), 5 * std::sqrt(static_cast<double>(k)));
}

OpSpec linear_operator() {
  return {
      .name = "linear",
      .weight = 4,
      .tier = 2,
      .domain = Domain::kMatrix,
      .fits = is_rows,
      .build = linear,
      .words = "a linear layer from {in_features} to {out_features} features",
      .ways =
          {{"nn.Linear({in_features}, {out_features}[[, bias={bias}]])", ""},
           {"nn.Linear(in_features={in_features}, out_features={out_features}[[, bias={bias}]])",
            ""},
           {"", "F.linear({x}, {weight}, {bias})", "bias"},
           {"", "F.linear({x}, {weight})", "!bias"},
           {"", "torch.matmul({x}, {weight}.t()) + {bias}", "bias"},
           {"", "torch.matmul({x}, {weight}.t())", "!bias"},
           {"", "{x} @ {weight}.T + {bias}", "bias"},
           {"", "{x} @ {weight}.T", "!bias"},
           {"", R"(torch.einsum("...i,oi->...o", {x}, {weight}) + {bias})", "bias"},
           {"", R"(torch.einsum("...i,oi->...o", {x}, {weight}))", "!bias"},
           {"", "torch.addmm({bias}, {x}, {weight}.t())", "bias !wide"}},
      .keeps_shape = true,
      .shifts_channels = true};
}

OpSpec matmul_operator() {
  return {.name = "matmul",
          .weight = 4,
          .tier = 2,
          .domain = Domain::kNone,
          .build = matmul,
          .words = "a product of two matrices",
          .ways = {{"", "torch.matmul({a}, {b})"},
                   {"", "{a} @ {b}"},
                   {"", "torch.mm({a}, {b})"},
                   {"", "{a}.matmul({b})"},
                   {"", "{a}.mm({b})"},
                   {"", R"(torch.einsum("{ai},{bi}->ij", {x}, {y}))"}}};
}

OpSpec batched_matmul_operator() {
  return {.name = "batched_matmul",
          .weight = 2,
          .tier = 2,
          .domain = Domain::kNone,
          .build = batched_matmul,
          .words = "a batch of matrix products",
          .ways = {{"", "torch.bmm({x}, {b})"},
                   {"", "torch.matmul({x}, {b})"},
                   {"", "{x} @ {b}"},
                   {"", "{x}.bmm({b})"},
                   {"", R"(torch.einsum("bik,{bi}->bij", {x}, {y}))"}}};
}

}  // namespace

std::vector<OpSpec> matmul_operators() {
  return in_half_too({linear_operator(), matmul_operator(), batched_matmul_operator()});
}

}  // namespace kw::writer::generate
