// Choices by weights. All weights are whole numbers, and shares are fractions of a power of two, so
// that running sums are exact: no rounding decides what is chosen.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

using tensor::DType;
using Numbers = std::vector<IntExpr>;

// Rows of at most some thousand weights, whose sums float32 holds.
Dims draw_rows(Builder& b) {
  const std::int64_t columns =
      b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / 4, 4, 1024));
  const std::int64_t most =
      std::min(b.limits.max_elements / columns, b.limits.max_work / (columns * columns));
  return {b.axis("batch_size", b.size(2, std::clamp<std::int64_t>(most, 2, 4096)), false),
          b.axis("vocab_size", columns, false)};
}

// The first index whose running sum of weights exceeds a random number modulo the sum of all
void weighted_sample(Builder& b) {
  const Dims shape = draw_rows(b);
  const Dims rows = {shape[0]}, column = {shape[0], {1, 1}};
  const auto wide = DType::kInt64;
  const ValueId weights = b.whole_numbers("weights", shape, DType::kInt32, 1, 1000).id;
  const ValueId draw = b.whole_numbers("draws", rows, wide, 0, INT32_MAX).id;
  const ValueId running = b.call("cumsum.default", {weights, 1}, shape, wide);
  const ValueId last = b.call("select.int", {running, 1, -1}, rows, wide);
  const ValueId target = b.call("remainder.Tensor", {draw, last}, rows, wide);
  const ValueId tall = b.call("unsqueeze.default", {target, 1}, column, wide);
  const ValueId below = b.call("le.Tensor", {running, tall}, shape, DType::kBool);
  b.result(b.call("sum.dim_IntList", {below, Numbers{1}, false}, rows, wide), rows);
}

// In descending order elements are kept while those before them sum to less than a share of all
void top_p_mask(Builder& b) {
  const Dims shape = draw_rows(b);
  const Dims column = {shape[0], {1, 1}};
  b.whole_numbers("weights", shape, DType::kFloat32, 0, 1000);
  const double p = b.real("top_p", b.pick({0.875, 0.75, 0.5, 0.9375}));
  const int sorted = b.call_several("sort.stable", {b.x(), true, 1, true},
                                    {type_of(shape), type_of(shape, DType::kInt64)});
  const ValueId ordered = {sorted, 0}, index = {sorted, 1};
  const ValueId running = b.call("cumsum.default", {ordered, 1}, shape);
  const ValueId before = b.call("sub.Tensor", {running, ordered}, shape);
  const ValueId total = b.call("sum.dim_IntList", {ordered, Numbers{1}, true}, column);
  const ValueId share = b.call("mul.Tensor", {total, p}, column);
  const ValueId kept = b.call("lt.Tensor", {before, share}, shape, DType::kBool);
  const ValueId none = b.call("full.default", {shape, false, DType::kBool}, shape, DType::kBool);
  b.result(b.call("scatter.src", {none, 1, index, kept}, shape, DType::kBool), shape);
}

OpSpec weighted_sample_operator() {
  return {.name = "weighted_sample",
          .tier = 3,
          .domain = Domain::kNone,
          .build = weighted_sample,
          .words =
              "the index drawn from each row of whole weights by a given random number: the first "
              "whose "
              "running sum exceeds the number modulo the row's sum,",
          .ways = {{"", R"({t:running} = torch.cumsum({x}, dim=-1)
({t:running} <= ({y} % {t:running}[:, -1])[:, None]).sum(dim=-1))"},
                   {"", R"({t:cdf} = {x}.cumsum(1)
{t:target} = torch.remainder({y}, {x}.sum(dim=1)).unsqueeze(1)
torch.sum({t:cdf} <= {t:target}, dim=1))"},
                   {"", R"({t:sums} = torch.cumsum({x}, 1)
{t:drawn} = {y}.unsqueeze(-1) % {t:sums}[:, -1:]
({t:sums} > {t:drawn}).int().argmax(dim=-1))"},
                   {"", R"({t:sums} = {x}.to(torch.int64).cumsum(-1)
{t:total} = {t:sums}[..., -1]
torch.le({t:sums}, torch.remainder({y}, {t:total})[..., None]).long().sum(-1))"},
                   {"", R"({t:cumulative} = torch.cumsum({x}, dim=1)
{t:point} = ({y} - {y} // {t:cumulative}[:, -1] * {t:cumulative}[:, -1]).view(-1, 1)
torch.where({t:cumulative} <= {t:point}, 1, 0).sum(dim=1))"}}};
}

OpSpec top_p_mask_operator() {
  return {
      .name = "top_p_mask",
      .tier = 4,
      .domain = Domain::kNone,
      .build = top_p_mask,
      .words =
          "the nucleus of each row of weights: in descending order (equal ones as they come) an "
          "element is kept while those before it sum to less than {top_p} of the row,",
      .ways = {
          {"", R"({t:ordered}, {t:index} = torch.sort({x}, dim=-1, descending=True, stable=True)
{t:before} = torch.cumsum({t:ordered}, dim=-1) - {t:ordered}
{t:kept} = {t:before} < {top_p} * {t:ordered}.sum(dim=-1, keepdim=True)
torch.zeros_like({t:kept}).scatter(-1, {t:index}, {t:kept}))"},
          {"", R"({t:order} = torch.argsort({x}, dim=-1, descending=True, stable=True)
{t:ordered} = torch.gather({x}, -1, {t:order})
{t:kept} = ({t:ordered}.cumsum(-1) - {t:ordered}) < {t:ordered}.sum(-1, keepdim=True) * {top_p}
torch.zeros({x}.shape, dtype=torch.bool).scatter(1, {t:order}, {t:kept}))"},
          {"", R"({t:values}, {t:places} = {x}.sort(dim=1, descending=True, stable=True)
{t:remove} = ({t:values}.cumsum(dim=1) - {t:values}) >= {top_p} * {x}.sum(dim=1, keepdim=True)
~torch.zeros_like({t:remove}).scatter(1, {t:places}, {t:remove}))"},
          {"", R"({t:s} = torch.sort({x}, descending=True, stable=True, dim=-1)
{t:start} = torch.cumsum({t:s}.values, -1).sub({t:s}.values)
{t:inside} = torch.lt({t:start}, torch.mul(torch.sum({t:s}.values, -1, True), {top_p}))
torch.scatter(torch.zeros_like({x}, dtype=torch.bool), -1, {t:s}.indices, {t:inside}))"},
          {"", R"({t:sorted}, {t:index} = torch.sort({x}, dim=-1, descending=True, stable=True)
{t:limit} = {top_p} * {x}.sum(-1, keepdim=True)
{t:mass} = F.pad({t:sorted}.cumsum(-1)[..., :-1], (1, 0))
torch.zeros_like({x}, dtype=torch.bool).scatter(-1, {t:index}, {t:mass} < {t:limit}))"}}};
}

}  // namespace

std::vector<OpSpec> sampling_operators() {
  return {weighted_sample_operator(), top_p_mask_operator()};
}

}  // namespace kw::writer::generate
