// Sorted rows, and what is read off them.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

constexpr std::int64_t kLongestRow = 2048;

bool is_sortable(const Value& x, const Limits& limits) {
  return x.dtype == tensor::DType::kFloat32 && !x.shape.empty() && x.shape.back().n >= 4 &&
         x.shape.back().n <= kLongestRow && elements(x.shape) * x.shape.back().n <= limits.max_work;
}

std::int64_t last_dim(Builder& b) {
  return static_cast<std::int64_t>(b.x().shape.size()) - 1;
}

void extremes(Builder& b, bool largest) {
  Dims shape = b.x().shape;
  b.fix(shape.back());
  const std::int64_t k = b.whole(
      "k", b.between(1, std::min<std::int64_t>(shape.back().n - 1, b.chance(0.8) ? 8 : 64)));
  shape.back() = {k, k};
  const int node = b.call_several("topk.default", {b.x(), k, last_dim(b), largest, true},
                                  {type_of(shape), std::nullopt});
  b.result({node, 0}, shape).plateaus = true;
}
void top_k(Builder& b) {
  extremes(b, true);
}
void bottom_k(Builder& b) {
  extremes(b, false);
}

void sort(Builder& b) {
  const Dims shape = b.x().shape;
  const bool descending = b.flag("descending", b.chance(0.4), false);
  b.size_of("length", shape.back());
  const int node = b.call_several("sort.default", {b.x(), last_dim(b), descending},
                                  {type_of(shape), std::nullopt});
  b.result({node, 0}, shape);
}

// Of an even number of elements the lower one in the middle
void median(Builder& b) {
  Dims shape = b.x().shape;
  b.size_of("length", shape.back());
  shape.pop_back();
  const int node =
      b.call_several("median.dim", {b.x(), last_dim(b), false}, {type_of(shape), std::nullopt});
  b.result({node, 0}, shape);
}

// Of its own input, since what another operator rounds may come in another order.
void argsort(Builder& b) {
  const std::int64_t columns = b.size(4, 512);
  const std::int64_t most =
      std::min(b.limits.max_elements / columns, b.limits.max_work / (columns * columns));
  const Dim rows_dim =
      b.axis("batch_size", b.size(1, std::clamp<std::int64_t>(most, 1, 1024)), false);
  const Dim columns_dim = b.axis("num_items", columns, false);
  b.input("scores", {rows_dim, columns_dim});
  const bool descending = b.flag("descending", b.chance(0.5), false);
  const int node =
      b.call_several("sort.stable", {b.x(), true, 1, descending},
                     {std::nullopt, type_of({rows_dim, columns_dim}, tensor::DType::kInt64)});
  b.result({node, 1}, {rows_dim, columns_dim});
}

OpSpec topk_operator() {
  return {.name = "topk",
          .weight = 3,
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_sortable,
          .build = top_k,
          .words = "the {k} largest elements of the last dimension, the largest first",
          .ways = {{"", "torch.topk({x}, {k}, dim=-1).values"},
                   {"", "torch.topk({x}, k={k}, dim=-1, largest=True, sorted=True)[0]"},
                   {"", "{x}.topk({k}, dim=-1)[0]"},
                   {"", "{x}.topk({k}).values"},
                   {"", "torch.sort({x}, dim=-1, descending=True).values[..., :{k}]"},
                   {"", R"({t:values}, {t:indices} = torch.topk({x}, {k}, dim=-1)
{t:values})"}}};
}

OpSpec bottomk_operator() {
  return {.name = "bottomk",
          .weight = 1.5,
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_sortable,
          .build = bottom_k,
          .words = "the {k} smallest elements of the last dimension, the smallest first",
          .ways = {{"", "torch.topk({x}, {k}, dim=-1, largest=False).values"},
                   {"", "{x}.topk({k}, largest=False)[0]"},
                   {"", "torch.sort({x}, dim=-1).values[..., :{k}]"},
                   {"", "{x}.sort(dim=-1)[0].narrow(-1, 0, {k})"},
                   {"", "-torch.topk(-{x}, {k}, dim=-1).values"}},
          .picks_extreme = true};
}

OpSpec sort_operator() {
  return {
      .name = "sort",
      .weight = 2,
      .tier = 3,
      .domain = Domain::kMatrix,
      .fits = is_sortable,
      .build = sort,
      .words = "the elements of the last dimension in order (descending: {descending})",
      .ways = {
          {"", "torch.sort({x}, dim=-1[[, descending={descending}]]).values"},
          {"", "{x}.sort(dim=-1[[, descending={descending}]])[0]"},
          {"", "torch.sort({x}[[, descending={descending}]])[0]"},
          {"", "torch.gather({x}, -1, torch.argsort({x}, dim=-1[[, descending={descending}]]))"},
          {"", "torch.topk({x}, {length}, dim=-1).values", "descending"},
          {"", "-torch.sort(-{x}, dim=-1).values", "descending"},
          {"", "torch.topk({x}, {length}, dim=-1, largest=False).values", "!descending"},
          {"", R"({t:order} = {x}.argsort(-1)
{x}.gather(-1, {t:order}))",
           "!descending"}}};
}

OpSpec median_operator() {
  return {
      .name = "median",
      .tier = 3,
      .domain = Domain::kMatrix,
      .fits = is_sortable,
      .build = median,
      .words = "the median of the last dimension (of an even number the lower one in the middle)",
      .ways = {{"", "torch.median({x}, dim=-1).values"},
               {"", "{x}.median(dim=-1)[0]"},
               {"", "torch.sort({x}, dim=-1)[0][..., ({length} - 1) // 2]"},
               {"", "torch.kthvalue({x}, ({length} + 1) // 2, dim=-1).values"},
               {"", "torch.topk({x}, {length} // 2 + 1, dim=-1).values[..., -1]"}},
      .picks_extreme = true};
}

OpSpec argsort_operator() {
  return {
      .name = "argsort",
      .tier = 3,
      .domain = Domain::kNone,
      .build = argsort,
      .words =
          "the places of the elements of each row in their order (descending: {descending}, equal "
          "ones as they come)",
      .ways = {
          {"", "torch.argsort({x}, dim=-1, stable=True[[, descending={descending}]])"},
          {"", "{x}.argsort(dim=-1, stable=True[[, descending={descending}]])"},
          {"", "torch.sort({x}, dim=-1, stable=True[[, descending={descending}]]).indices"},
          {"", "{x}.sort(dim=-1, stable=True[[, descending={descending}]])[1]"},
          {"",
           R"({t:values}, {t:order} = torch.sort({x}, stable=True, dim=1[[, descending={descending}]])
{t:order})"}}};
}

}  // namespace

std::vector<OpSpec> sorting_operators() {
  return {topk_operator(), bottomk_operator(), sort_operator(), median_operator(),
          argsort_operator()};
}

}  // namespace kw::writer::generate
