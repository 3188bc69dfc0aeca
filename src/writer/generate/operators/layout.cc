// The same elements elsewhere: transposed, joined, stacked, cut, padded.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_plane(const Value& x, const Limits&) {
  return x.dtype == tensor::DType::kFloat32 && x.shape.size() >= 2 && elements(x.shape) >= 8;
}
bool is_matrix(const Value& x, const Limits& limits) {
  return is_plane(x, limits) && x.shape.size() == 2 && x.shape[0].n >= 2 && x.shape[1].n >= 2;
}
bool is_deep(const Value& x, const Limits& limits) {
  return is_plane(x, limits) && x.shape.size() >= 3;
}
bool has_room(const Value& x, const Limits& limits) {
  return is_plane(x, limits) && elements(x.shape) * 2 <= limits.max_elements;
}
bool is_long(const Value& x, const Limits& limits) {
  return is_plane(x, limits) && x.shape.back().n >= 4;
}

bool can_stack(const Value& x, const Limits& limits) {
  return has_elements(x, limits) && x.shape.size() <= 4 &&
         elements(x.shape) * 2 <= limits.max_elements;
}

void transpose(Builder& b) {
  Dims shape = b.x().shape;
  const std::size_t rank = shape.size();
  std::swap(shape[rank - 1], shape[rank - 2]);
  std::vector<IntExpr> order;
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::size_t from = d + 2 == rank ? d + 1 : d + 1 == rank ? d - 1 : d;
    order.emplace_back(static_cast<std::int64_t>(from));
    text += (d == 0 ? "" : ", ") + std::to_string(from);
  }
  b.text("order", text);
  b.flag("matrix", rank == 2);
  b.result(b.call("permute.default", {b.x(), order}, shape), shape);
}
void flatten(Builder& b) {
  const Dims shape = b.x().shape;
  const Dims out = {shape[0], product(shape, 1, shape.size())};
  b.result(b.call("view.default", {b.x(), out}, out), out);
}
void flip(Builder& b) {
  const Dims shape = b.x().shape;
  const auto dim = b.whole("dim", b.between(0, static_cast<std::int64_t>(shape.size()) - 1));
  b.size_of("length", shape[static_cast<std::size_t>(dim)]);
  b.flag("first", dim == 0);
  b.result(b.call("flip.default", {b.x(), std::vector<IntExpr>{dim}}, shape), shape);
}
void concatenate(Builder& b) {
  Dims shape = b.x().shape;
  const Value& y = b.companion(shape);
  std::int64_t dim = b.chance(0.6) ? 1 : 0;
  bool equal = true;  // two branches may differ where they are joined
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].size == y.shape[d].size) continue;
    dim = static_cast<std::int64_t>(d);
    equal = false;
  }
  b.whole("dim", dim);
  b.flag("equal", equal);
  Dim& joined = shape[static_cast<std::size_t>(dim)];
  const Dim& more = y.shape[static_cast<std::size_t>(dim)];
  joined = {joined.size + more.size, joined.n + more.n};
  Value& out = b.result(
      b.call("cat.default", {std::vector<std::optional<ValueId>>{b.x().id, y.id}, dim}, shape),
      shape);
  out.range(std::min(out.low, b.in(1).low), std::max(out.high, b.in(1).high));
  out.plateaus = out.plateaus || b.in(1).plateaus;
  b.flag("first", dim == 0);
  b.flag("second", dim == 1);
}
void narrow(Builder& b) {
  Dims shape = b.x().shape;
  b.fix(shape.back());
  const std::int64_t n = shape.back().n;
  const std::int64_t start = b.between(0, n / 3), length = b.between(2, n - start);
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  b.whole("start", start);
  b.whole("size", length);
  b.text("end", std::to_string(start + length));
  b.text("last", std::to_string(last));
  shape.back() = {length, length};
  b.result(b.call("slice.Tensor", {b.x(), last, start, start + length, 1}, shape), shape);
}
void pad(Builder& b) {
  Dims shape = b.x().shape;
  const std::int64_t left = b.whole("left", b.between(0, 3)),
                     right = b.whole("right", b.between(1, 3));
  const double value = b.real("value", b.chance(0.7) ? 0.0 : b.number({1.0, 0.5}), 0.0);
  const Dim& last = shape.back();
  b.text("rank", std::to_string(shape.size()));
  b.flag("zero", value == 0);
  shape.back() = {last.size + (left + right), last.n + left + right};
  Value& out = b.result(b.call("constant_pad_nd.default",
                               {b.x(), std::vector<std::int64_t>{left, right}, value}, shape),
                        shape);
  out.range(std::min(out.low, 0.0), std::max(out.high, value));
}
// Elements on one side of the diagonal; the others are 0
void triangle(Builder& b) {
  const Dims shape = b.x().shape;
  const bool lower = b.flag("lower", b.chance(0.5));
  const std::int64_t offset = b.whole("diagonal", b.chance(0.6) ? 0 : b.between(-1, 1), 0);
  b.size_of("rows", shape[0]);
  b.size_of("columns", shape[1]);
  const Dims line = {shape[1]}, column = {shape[0], Dim{1, 1}}, rows = {shape[0]};
  const auto int64 = tensor::DType::kInt64;
  const ValueId across = b.call("arange.start_step", {0, shape[1], 1, int64}, line, int64);
  const ValueId ramp = b.call("arange.start_step", {0, shape[0], 1, int64}, rows, int64);
  const ValueId down = b.call("unsqueeze.default", {ramp, 1}, column, int64);
  const ValueId edge = b.call("add.Tensor", {down, offset}, column, int64);
  const ValueId kept =
      b.call(lower ? "le.Tensor" : "ge.Tensor", {across, edge}, shape, tensor::DType::kBool);
  const ValueId zero = b.call("full.default", {std::vector<IntExpr>{}, 0.0}, {});
  Value& out = b.result(b.call("where.self", {kept, b.x(), zero}, shape), shape);
  out.range(std::min(out.low, 0.0), std::max(out.high, 0.0));
}
void stack(Builder& b) {
  const Dims shape = b.x().shape;
  const ValueId y = b.companion(shape).id;
  const auto dim = b.whole("dim", b.between(0, std::min<std::int64_t>(2, std::ssize(shape) - 1)));
  b.text("place", dim == 0 ? "None" : dim == 1 ? ":, None" : ":, :, None");
  Dims one = shape;
  one.insert(one.begin() + static_cast<std::ptrdiff_t>(dim), Dim{1, 1});
  const ValueId first = b.call("unsqueeze.default", {b.x(), dim}, one);
  const ValueId second = b.call("unsqueeze.default", {y, dim}, one);
  Dims both = one;
  both[static_cast<std::size_t>(dim)] = {2, 2};
  Value& out = b.result(
      b.call("cat.default", {std::vector<std::optional<ValueId>>{first, second}, dim}, both), both);
  out.range(std::min(b.x().low, b.in(1).low), std::max(b.x().high, b.in(1).high));
  out.plateaus = out.plateaus || b.in(1).plateaus;
}

OpSpec transpose_operator() {
  return {.name = "transpose",
          .weight = 1.5,
          .tier = 2,
          .fits = is_plane,
          .build = transpose,
          .words = "exchanging the last two dimensions",
          .ways = {{"", "{x}.transpose(-2, -1).contiguous()"},
                   {"", "torch.transpose({x}, -1, -2)"},
                   {"", "{x}.permute({order})"},
                   {"", "{x}.mT"},
                   {"", "{x}.t()", "matrix"},
                   {"", "torch.permute({x}, ({order})).contiguous()"}}};
}

OpSpec flatten_operator() {
  return {.name = "flatten",
          .weight = 1.5,
          .fits = is_deep,
          .build = flatten,
          .words = "flattening all but the first dimension",
          .ways = {{"nn.Flatten()", ""},
                   {"", "torch.flatten({x}, 1)"},
                   {"", "{x}.flatten(1)"},
                   {"", "{x}.reshape({x}.shape[0], -1)"},
                   {"", "{x}.flatten(start_dim=1)"},
                   {"", "{x}.contiguous().view({x}.size(0), -1)"}}};
}

OpSpec flip_operator() {
  return {.name = "flip",
          .weight = 0.7,
          .fits = is_plane,
          .build = flip,
          .words = "reversing dimension {dim}",
          .ways = {{"", "torch.flip({x}, dims=[{dim}])"},
                   {"", "{x}.flip({dim})"},
                   {"", "{x}.flip([{dim}])"},
                   {"", "torch.index_select({x}, {dim}, torch.arange({length} - 1, -1, -1))"},
                   {"", "torch.flipud({x})", "first"},
                   {"", "torch.flip({x}, ({dim},))"}}};
}

OpSpec concatenate_operator() {
  return {.name = "concatenate",
          .weight = 1.2,
          .fits = has_room,
          .build = concatenate,
          .words = "joining along dimension {dim}",
          .ways = {{"", "torch.cat([{x}, {y}], dim={dim})"},
                   {"", "torch.cat(({x}, {y}), {dim})"},
                   {"", "torch.concat([{x}, {y}], dim={dim})"},
                   {"", "torch.concatenate(({x}, {y}), axis={dim})"},
                   {"", "torch.stack([{x}, {y}], dim={dim}).flatten({dim}, {dim} + 1)", "equal"},
                   {"", "torch.vstack(({x}, {y}))", "first"},
                   {"", "torch.hstack(({x}, {y}))", "second"},
                   {"",
                    "torch.cat([{x}.transpose(0, {dim}), {y}.transpose(0, {dim})]).transpose(0, "
                    "{dim})",
                    "!first"}},
          .join = {.weight = 4, .cuts = true}};
}

OpSpec narrow_operator() {
  return {.name = "narrow",
          .weight = 0.8,
          .fits = is_long,
          .build = narrow,
          .words = "taking {size} elements from {start} of the last dimension",
          .ways = {{"", "{x}.narrow(-1, {start}, {size})"},
                   {"", "torch.narrow({x}, {last}, {start}, {size})"},
                   {"", "{x}[..., {start}:{end}]"},
                   {"", "{x}[..., {start}:{start} + {size}]"},
                   {"", "{x}.index_select(-1, torch.arange({start}, {end}))"}}};
}

OpSpec pad_operator() {
  return {
      .name = "pad",
      .weight = 0.8,
      .fits = has_room,
      .build = pad,
      .words = "padding the last dimension by {left} and {right} with {value}",
      .ways =
          {{"", "F.pad({x}, ({left}, {right})[[, value={value}]])"},
           {"",
            R"(torch.nn.functional.pad({x}, [{left}, {right}], mode="constant", value={value}))"},
           {"nn.ConstantPad1d(({left}, {right}), {value})", ""},
           {"", "F.pad({x}, pad=({left}, {right}), value={value})"},
           {"", "torch.constant_pad_nd({x}, ({left}, {right}), {value})"},
           {"",
            "torch.cat([torch.full({x}.shape[:-1] + ({left},), {value}), {x}, "
            "torch.full({x}.shape[:-1] + ({right},), {value})], dim=-1)"}},
      .half = false};
}

OpSpec triangle_operator() {
  return {.name = "triangle",
          .weight = 0.8,
          .tier = 2,
          .domain = Domain::kMatrix,
          .fits = is_matrix,
          .build = triangle,
          .words = "keeping one triangle (lower: {lower}, diagonal {diagonal})",
          .ways = {{"", "torch.tril({x}[[, diagonal={diagonal}]])", "lower"},
                   {"", "{x}.tril([[{diagonal}]])", "lower"},
                   {"", "{x} * torch.tril(torch.ones({rows}, {columns})[[, {diagonal}]])", "lower"},
                   {"", "{x}.masked_fill(torch.ones({rows}, {columns}).tril({diagonal}) == 0, 0.0)",
                    "lower"},
                   {"", R"({t:i} = torch.arange({rows})[:, None]
{t:j} = torch.arange({columns})[None, :]
torch.where({t:j} <= {t:i} + {diagonal}, {x}, 0.0))",
                    "lower"},
                   {"", "torch.triu({x}[[, diagonal={diagonal}]])", "!lower"},
                   {"", "{x}.triu([[{diagonal}]])", "!lower"},
                   {"",
                    "{x}.masked_fill(~torch.ones({rows}, {columns}, "
                    "dtype=torch.bool).triu({diagonal}), 0.0)",
                    "!lower"},
                   {"", "torch.ones_like({x}).triu({diagonal}) * {x}", "!lower"},
                   {"", R"({t:i} = torch.arange({rows}).unsqueeze(1)
{t:j} = torch.arange({columns})
{x} * ({t:j} >= {t:i} + {diagonal}))",
                    "!lower"}},
          .half = false};
}

OpSpec stack_operator() {
  return {.name = "stack",
          .weight = 0.7,
          .domain = Domain::kNever,
          .fits = can_stack,
          .build = stack,
          .words = "stacking along a new dimension {dim}",
          .ways = {{"", "torch.stack([{x}, {y}], dim={dim})"},
                   {"", "torch.stack(({x}, {y}), {dim})"},
                   {"", "torch.cat([{x}.unsqueeze({dim}), {y}.unsqueeze({dim})], dim={dim})"},
                   {"", "torch.cat(({x}[{place}], {y}[{place}]), {dim})"},
                   {"", "torch.cat([{x}, {y}], dim={dim}).unflatten({dim}, (2, -1))"},
                   {"", R"({t:pair} = [torch.unsqueeze({t:each}, {dim}) for {t:each} in ({x}, {y})]
torch.concat({t:pair}, dim={dim}))"}},
          .join = {.weight = 1}};
}

}  // namespace

std::vector<OpSpec> layout_operators() {
  return in_half_too({transpose_operator(), flatten_operator(), flip_operator(),
                      concatenate_operator(), narrow_operator(), pad_operator(),
                      triangle_operator(), stack_operator()});
}

}  // namespace kw::writer::generate
