// Elements and rows that an index names: looked up, added up.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

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
  const ValueId wide = b.call("unsqueeze.default", {index, 1}, column, tensor::DType::kInt64);
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

// Of each bag of indices the sum or mean of the rows that they name
void embedding_bag(Builder& b) {
  const std::int64_t width = b.size(4, 512);
  const std::int64_t rows =
      b.size(16, std::clamp<std::int64_t>(b.limits.max_elements / width, 16, 100000));
  const std::int64_t length =
      b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / (8 * width), 2, 64));
  const std::int64_t most = std::max<std::int64_t>(2, b.limits.max_elements / (width * length));
  const Dim vocab_dim = b.axis("vocab_size", rows), width_dim = b.axis("embedding_dim", width);
  const Dim bags_dim = b.axis("num_bags", b.size(2, std::min<std::int64_t>(most, 4096)), false),
            length_dim = b.axis("bag_size", length, false);
  b.indices("indices", {bags_dim, length_dim}, vocab_dim);
  const bool mean = b.flag("mean", b.chance(0.5));
  b.text("mode", mean ? "\"mean\"" : "\"sum\"", mean);
  b.size_of("num_embeddings", vocab_dim);
  b.size_of("embedding_dim", width_dim);
  const ValueId weight = b.weight("weight", {vocab_dim, width_dim}, Start::kWeight, {1, 1}).id;
  const Dims taken = {bags_dim, length_dim, width_dim}, shape = {bags_dim, width_dim};
  const ValueId all = b.call("embedding.default", {weight, b.in(0)}, taken);
  const std::vector<IntExpr> dims = {1};
  b.result(b.call(mean ? "mean.dim" : "sum.dim_IntList", {all, dims, false}, shape), shape)
      .range(-9, 9);
}

OpSpec embedding_operator() {
  return {
      .name = "embedding",
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

OpSpec embedding_bag_operator() {
  return {
      .name = "embedding_bag",
      .weight = 1.5,
      .tier = 3,
      .domain = Domain::kNone,
      .build = embedding_bag,
      .words =
          "the mean (mean: {mean}, else the sum) of the rows of a table of {num_embeddings} x "
          "{embedding_dim} that each bag of indices names,",
      .ways = {
          {"nn.EmbeddingBag({num_embeddings}, {embedding_dim}[[, mode={mode}]])", ""},
          {"nn.EmbeddingBag(num_embeddings={num_embeddings}, embedding_dim={embedding_dim}, "
           "mode={mode})",
           ""},
          {"", "F.embedding_bag({x}, {weight}[[, mode={mode}]])"},
          {"nn.Embedding({num_embeddings}, {embedding_dim})", "self.{m}({x}).mean(dim=1)", "mean"},
          {"nn.Embedding({num_embeddings}, {embedding_dim})", "self.{m}({x}).sum(dim=1)", "!mean"},
          {"", "torch.mean({weight}[{x}], dim=1)", "mean"},
          {"", "torch.sum({weight}[{x}], dim=1)", "!mean"},
          {"", "F.embedding({x}, {weight}).mean(1)", "mean"},
          {"", "F.embedding({x}, {weight}).sum(1)", "!mean"},
          {"", R"({t:rows} = torch.index_select({weight}, 0, {x}.reshape(-1))
{t:rows}.view({x}.shape[0], {x}.shape[1], -1).sum(dim=1))",
           "!mean"},
          {"", R"({t:rows} = torch.index_select({weight}, 0, {x}.reshape(-1))
{t:rows}.view({x}.shape[0], {x}.shape[1], -1).sum(dim=1) / {x}.shape[1])",
           "mean"}}};
}

}  // namespace

std::vector<OpSpec> gather_operators() {
  return {embedding_operator(), gather_operator(), index_add_operator(), embedding_bag_operator()};
}

}  // namespace kw::writer::generate
