// The same elements elsewhere: transposed, joined, cut, padded, looked up.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_plane(const Value& x, const Limits&) {
  return x.dtype == task::DType::kFloat32 && x.shape.size() >= 2 && elements(x.shape) >= 8;
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
  const auto int64 = task::DType::kInt64;
  const ValueId across = b.call("arange.start_step", {0, shape[1], 1, int64}, line, int64);
  const ValueId ramp = b.call("arange.start_step", {0, shape[0], 1, int64}, rows, int64);
  const ValueId down = b.call("unsqueeze.default", {ramp, 1}, column, int64);
  const ValueId edge = b.call("add.Tensor", {down, offset}, column, int64);
  const ValueId kept =
      b.call(lower ? "le.Tensor" : "ge.Tensor", {across, edge}, shape, task::DType::kBool);
  const ValueId zero = b.call("full.default", {std::vector<IntExpr>{}, 0.0}, {});
  Value& out = b.result(b.call("where.self", {kept, b.x(), zero}, shape), shape);
  out.range(std::min(out.low, 0.0), std::max(out.high, 0.0));
}
// The rows of a table that indices name
void embedding(Builder& b) {
  const std::int64_t width = b.size(4, 1024);
  const std::int64_t rows =
      b.size(16, std::clamp<std::int64_t>(b.limits.max_elements / width, 16, 1000000));
  const Dim vocab_dim = b.axis("vocab_size", rows), width_dim = b.axis("embedding_dim", width);
  const Dim batch_dim =
      b.axis("batch_size",
             b.size(1, std::clamp<std::int64_t>(b.limits.max_elements / width, 1, 64)), false);
  const Dim length_dim = b.axis(
      "seq_len",
      b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / (width * batch_dim.n), 4, 512)),
      false);
  b.indices("input_ids", {batch_dim, length_dim}, vocab_dim);
  b.size_of("num_embeddings", vocab_dim);
  b.size_of("embedding_dim", width_dim);
  const ValueId weight = b.weight("weight", {vocab_dim, width_dim}, Start::kWeight, {1, 1}).id;
  b.result(b.call("embedding.default", {weight, b.in(0)}, {batch_dim, length_dim, width_dim}),
           {batch_dim, length_dim, width_dim})
      .range(-3, 3);
}
// One element of each row
void gather(Builder& b) {
  const std::int64_t columns =
      b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / 8, 2, 65536));
  const Dim rows_dim =
      b.axis("batch_size",
             b.size(1, std::clamp<std::int64_t>(b.limits.max_elements / columns, 1, 4096)), false);
  const Dim columns_dim = b.axis("num_classes", columns);
  const ValueId x = b.input("x", {rows_dim, columns_dim}).id;
  const ValueId index = b.indices("index", {rows_dim}, columns_dim).id;
  const Dims column = {rows_dim, Dim{1, 1}};
  const ValueId wide = b.call("unsqueeze.default", {index, 1}, column, task::DType::kInt64);
  const ValueId taken = b.call("gather.default", {x, 1, wide}, column);
  b.result(b.call("view.default", {taken, Dims{rows_dim}}, {rows_dim}), {rows_dim}).range(-3, 3);
}

// Rows added up where an index says
void index_add(Builder& b) {
  const std::int64_t width =
      b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / 32, 2, 512));
  const std::int64_t most =
      std::min(b.limits.max_elements / width, b.limits.max_work / (32 * width));
  const std::int64_t rows = b.size(4, std::clamp<std::int64_t>(most, 4, 4096));
  const Dim rows_dim = b.axis("num_edges", rows, false),
            width_dim = b.axis("feature_dim", width, false);
  const std::int64_t nodes = b.whole("num_nodes", b.size(2, std::min<std::int64_t>(rows, 256)));
  const Dim columns_dim = {nodes, nodes};  // no input has it for a dimension
  const ValueId x = b.input("x", {rows_dim, width_dim}).id;
  const ValueId index = b.indices("index", {rows_dim}, columns_dim).id;
  const ValueId none =
      b.call("full.default", {Dims{columns_dim, width_dim}, 0.0}, {columns_dim, width_dim});
  b.result(b.call("index_add.default", {none, 0, index, x}, {columns_dim, width_dim}),
           {columns_dim, width_dim})
      .range(-9, 9);
}

constexpr std::string_view kFamily = "layout";
constexpr std::string_view kGather = "gather";

OpSpec transpose_operator() {
  return {.name = "transpose",
          .family = kFamily,
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
          .family = kFamily,
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
          .family = kFamily,
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
          .family = kFamily,
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
                    "!first"}}};
}

OpSpec narrow_operator() {
  return {.name = "narrow",
          .family = kFamily,
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
      .family = kFamily,
      .weight = 0.8,
      .fits = has_room,
      .build = pad,
      .words = "padding the last dimension by {left} and {right} with {value}",
      .ways = {
          {"", "F.pad({x}, ({left}, {right})[[, value={value}]])"},
          {"",
           R"(torch.nn.functional.pad({x}, [{left}, {right}], mode="constant", value={value}))"},
          {"nn.ConstantPad1d(({left}, {right}), {value})", ""},
          {"", "F.pad({x}, pad=({left}, {right}), value={value})"},
          {"", "torch.constant_pad_nd({x}, ({left}, {right}), {value})"},
          {"",
           "torch.cat([torch.full({x}.shape[:-1] + ({left},), {value}), {x}, "
           "torch.full({x}.shape[:-1] + ({right},), {value})], dim=-1)"}}};
}

OpSpec triangle_operator() {
  return {.name = "triangle",
          .family = kFamily,
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
                    "!lower"}}};
}

OpSpec embedding_operator() {
  return {
      .name = "embedding",
      .family = kGather,
      .weight = 2,
      .tier = 2,
      .domain = Domain::kNone,
      .build = embedding,
      .words = "looking up rows of a table of {num_embeddings} x {embedding_dim}",
      .ways = {
          {"nn.Embedding({num_embeddings}, {embedding_dim})", ""},
          {"nn.Embedding(num_embeddings={num_embeddings}, embedding_dim={embedding_dim})", ""},
          {"", "F.embedding({x}, {weight})"},
          {"", "{weight}[{x}]"},
          {"", "torch.nn.functional.embedding({x}, {weight})"},
          {"", "torch.embedding({weight}, {x})"},
          {"",
           "torch.index_select({weight}, 0, {x}.flatten()).view({x}.shape[0], {x}.shape[1], -1)"}}};
}

OpSpec gather_operator() {
  return {.name = "gather",
          .family = kGather,
          .tier = 2,
          .domain = Domain::kNone,
          .build = gather,
          .words = "taking from each row the element that an index names",
          .ways = {{"", "{x}.gather(1, {y}.unsqueeze(1)).squeeze(1)"},
                   {"", "torch.gather({x}, 1, {y}[:, None]).squeeze(1)"},
                   {"", "torch.gather({x}, dim=1, index={y}.unsqueeze(-1)).squeeze(-1)"},
                   {"", "{x}[torch.arange({x}.shape[0]), {y}]"},
                   {"", "torch.take_along_dim({x}, {y}.view(-1, 1), dim=1).view(-1)"}}};
}

OpSpec index_add_operator() {
  return {.name = "index_add",
          .family = kGather,
          .tier = 3,
          .domain = Domain::kNone,
          .build = index_add,
          .words = "adding up the rows that an index sends to the same of {num_nodes} rows",
          .ways = {{"", "torch.zeros({num_nodes}, {x}.shape[1]).index_add(0, {y}, {x})"},
                   {"", R"({t:out} = {x}.new_zeros({num_nodes}, {x}.size(1))
{t:out}.index_add_(0, {y}, {x}))"},
                   {"", R"({t:index} = {y}.unsqueeze(-1).expand_as({x})
{t:zeros} = torch.zeros({num_nodes}, {x}.shape[-1], dtype={x}.dtype, device={x}.device)
{t:zeros}.scatter_add(0, {t:index}, {x}))"},
                   {"", "F.one_hot({y}, {num_nodes}).to({x}.dtype).t() @ {x}"},
                   {"", R"({t:hits} = ({y}[None, :] == torch.arange({num_nodes})[:, None]).float()
torch.mm({t:hits}, {x}))"}}};
}

}  // namespace

std::vector<OpSpec> layout_operators() {
  return {transpose_operator(), flatten_operator(),  flip_operator(),     concatenate_operator(),
          narrow_operator(),    pad_operator(),      triangle_operator(), embedding_operator(),
          gather_operator(),    index_add_operator()};
}

}  // namespace kw::writer::generate
