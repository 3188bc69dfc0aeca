// Normalisation of channels and groups, by lengths, and the logarithm of softmax.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool has_channels(const Value& x, const Limits&) {
  return x.dtype == tensor::DType::kFloat32 && x.shape.size() >= 2 && x.shape.size() <= 5 &&
         x.shape[1].n >= 2 && !x.centred && !x.plateaus && x.magnitude() < 1e4;
}
bool has_batch(const Value& x, const Limits& limits) {
  return has_channels(x, limits) && elements(x.shape) / x.shape[1].n >= 8;
}
bool has_places(const Value& x, const Limits& limits) {
  return has_channels(x, limits) && x.shape.size() >= 3 &&
         elements(x.shape) / (x.shape[0].n * x.shape[1].n) >= 8;
}
bool has_groups_to_norm(const Value& x, const Limits& limits) {
  return has_channels(x, limits) && elements(x.shape) / x.shape[0].n >= 16;
}
bool is_wide_in_channels(const Value& x, const Limits& limits) {
  return has_channels(x, limits) && x.shape.back().n >= 4 && x.magnitude() < 50;
}

std::string spread(const Dims& shape) {
  std::string out = "1, -1";
  for (std::size_t d = 2; d < shape.size(); ++d) out += ", 1";
  return out;
}
std::vector<IntExpr> all_but_channels(const Dims& shape) {
  std::vector<IntExpr> out = {0};
  for (std::size_t d = 2; d < shape.size(); ++d) out.emplace_back(static_cast<std::int64_t>(d));
  return out;
}
std::string text_of(const std::vector<IntExpr>& dims) {
  std::string out;
  for (const IntExpr& one : dims) out += one.python() + ", ";
  return out;
}
double epsilon(Builder& b) {
  return b.real("eps", b.chance(0.75) ? 1e-5 : b.pick({1e-3, 1e-6, 1e-4}), 1e-5);
}
void set_normal(Value& out) {
  out.range(-4, 4);
  out.centred = true;
}

// With the statistics of the batch, as in training
void batch_norm(Builder& b) {
  const Dims shape = b.x().shape;
  const Dim& channels = shape[1];
  const double eps = epsilon(b);
  const bool affine = b.flag("affine", b.chance(0.9), true);
  b.size_of("num_features", channels);
  b.text("r", shape.size() <= 3 ? "1" : shape.size() == 4 ? "2" : "3");
  b.text("dims", text_of(all_but_channels(shape)));
  b.text("spread", spread(shape));
  Arg weight = nullptr, bias = nullptr;
  if (affine) {
    weight = b.weight("weight", {channels}, Start::kOnes);
    bias = b.weight("bias", {channels}, Start::kZeros);
  } else {
    b.fix(channels);
  }
  const int node =
      b.call_several("_native_batch_norm_legit.no_stats", {b.x(), weight, bias, true, 0.1, eps},
                     {type_of(shape), std::nullopt, std::nullopt});
  set_normal(b.result({node, 0}, shape));
}

// With statistics that are given
void frozen_batch_norm(Builder& b) {
  const Dims shape = b.x().shape;
  const Dim& channels = shape[1];
  const double eps = epsilon(b);
  b.size_of("num_features", channels);
  b.text("spread", spread(shape));
  b.text("r", shape.size() <= 3 ? "1" : shape.size() == 4 ? "2" : "3");
  const ValueId weight = b.weight("weight", {channels}, Start::kOnes).id;
  const ValueId bias = b.weight("bias", {channels}, Start::kZeros).id;
  const ValueId mean = b.buffer("running_mean", {channels}, Start::kZeros).id;
  const ValueId variance = b.buffer("running_var", {channels}, Start::kVariance).id;
  const int node = b.call_several("_native_batch_norm_legit_no_training.default",
                                  {b.x(), weight, bias, mean, variance, 0.1, eps},
                                  {type_of(shape), std::nullopt, std::nullopt});
  Value& out = b.result({node, 0}, shape);
  const double most = 2 * out.magnitude() + 3;  // whatever mean and bias are
  out.range(-most, most);
}

void instance_norm(Builder& b) {
  const Dims shape = b.x().shape;
  const Dim rows = times(shape[0], shape[1]);
  Dims flat = {Dim{1, 1}, rows};
  flat.insert(flat.end(), shape.begin() + 2, shape.end());
  const double eps = epsilon(b);
  b.size_of("num_features", shape[1]);
  b.fix(shape[1]);
  b.text("r", std::to_string(shape.size() - 2));
  std::vector<IntExpr> dims;
  for (std::size_t d = 2; d < shape.size(); ++d) dims.emplace_back(static_cast<std::int64_t>(d));
  b.text("dims", text_of(dims));
  const ValueId in = b.call("view.default", {b.x(), flat}, flat);
  const int node =
      b.call_several("_native_batch_norm_legit.no_stats", {in, nullptr, nullptr, true, 0.1, eps},
                     {type_of(flat), std::nullopt, std::nullopt});
  set_normal(b.result(b.call("view.default", {ValueId{node, 0}, shape}, shape), shape));
}

void group_norm(Builder& b) {
  const Dims shape = b.x().shape;
  const Dim& channels = shape[1];
  std::vector<std::int64_t> fitting;
  for (const std::int64_t g : {1, 2, 4, 8, 16, 32, 3, 5, 7})
    if (channels.n % g == 0 && elements(shape) / shape[0].n / g >= 8) fitting.push_back(g);
  const std::int64_t groups = b.whole("num_groups", fitting[b.rng.below(fitting.size())]);
  const double eps = epsilon(b);
  b.size_of("num_channels", channels);
  b.text("spread", spread(shape));
  const ValueId weight = b.weight("weight", {channels}, Start::kOnes).id;
  const ValueId bias = b.weight("bias", {channels}, Start::kZeros).id;
  const Dim places = product(shape, 2, shape.size());
  const int node = b.call_several("native_group_norm.default",
                                  {b.x(), weight, bias, shape[0], channels, places, groups, eps},
                                  {type_of(shape), std::nullopt, std::nullopt});
  set_normal(b.result({node, 0}, shape));
}

void length_norm(Builder& b, double order) {
  const Dims shape = b.x().shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t dim = b.chance(0.6) ? 1 : rank - 1;
  if (shape[static_cast<std::size_t>(dim)].n < 2) dim = dim == 1 ? rank - 1 : 1;
  b.whole("dim", dim);
  Dims left = shape;
  left[static_cast<std::size_t>(dim)] = {1, 1};
  const ValueId norm =
      b.call("linalg_vector_norm.default", {b.x(), order, std::vector<IntExpr>{dim}, true}, left);
  const ValueId below = b.call("clamp.default", {norm, 1e-12, nullptr}, left);
  const auto n = static_cast<double>(shape[static_cast<std::size_t>(dim)].n);
  const double most = std::min(1.0, order == 1 ? 4 / n : 3 / std::sqrt(n));
  const double least = b.x().positive() ? 0 : -most;
  Value& out = b.result(b.call("div.Tensor", {b.x(), below}, shape), shape);
  out.range(least, most);
  out.centred = true;  // its norm is 1
}

void log_softmax(Builder& b) {
  const Dims shape = b.x().shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t dim = b.chance(0.75) ? rank - 1 : 1;
  b.whole("dim", dim == rank - 1 && b.chance(0.6) ? -1 : dim);
  Value& out = b.result(b.call("_log_softmax.default", {b.x(), dim, false}, shape), shape);
  out.range(-out.magnitude() * 2 - 12, 0);
  out.centred = true;
}

OpSpec batch_norm_operator() {
  return {
      .name = "batch_norm",
      .weight = 2.5,
      .tier = 3,
      .domain = Domain::kImage,
      .fits = has_batch,
      .build = batch_norm,
      .words =
          "batch normalisation of {num_features} channels by the batch's own statistics (eps "
          "{eps})",
      .ways =
          {{"nn.BatchNorm{r}d({num_features}[[, eps={eps}]][[, affine={affine}]])", ""},
           {"nn.BatchNorm{r}d(num_features={num_features}[[, eps={eps}]][[, affine={affine}]])",
            ""},
           {"nn.BatchNorm{r}d({num_features}, eps={eps}, affine={affine}, "
            "track_running_stats=False)",
            ""},
           {"", "F.batch_norm({x}, None, None, {weight}, {bias}, True, 0.1, {eps})", "affine"},
           {"", "F.batch_norm({x}, None, None, training=True, eps={eps})", "!affine"},
           {"",
            "torch.batch_norm({x}, {weight}, {bias}, None, None, True, 0.1, {eps}, "
            "torch.backends.cudnn.enabled)",
            "affine"},
           {"", "torch.batch_norm({x}, None, None, None, None, True, 0.1, {eps}, False)",
            "!affine"},
           {"",
            R"({t:var}, {t:mean} = torch.var_mean({x}, dim=({dims}), unbiased=False, keepdim=True)
({x} - {t:mean}) * torch.rsqrt({t:var} + {eps}))",
            "!affine"},
           {"", R"({t:mean} = {x}.mean(dim=({dims}), keepdim=True)
{t:var} = {x}.var(dim=({dims}), unbiased=False, keepdim=True)
({x} - {t:mean}) / torch.sqrt({t:var} + {eps}))",
            "!affine"},
           {"", R"({t:mean} = {x}.mean(dim=({dims}), keepdim=True)
{t:var} = (({x} - {t:mean}) ** 2).mean(dim=({dims}), keepdim=True)
({x} - {t:mean}) * torch.rsqrt({t:var} + {eps}) * {weight}.view({spread}) + {bias}.view({spread}))",
            "affine"}},
      .forgets_shifts = true,
      .half = false};
}

OpSpec frozen_batch_norm_operator() {
  return {
      .name = "frozen_batch_norm",
      .tier = 2,
      .domain = Domain::kImage,
      .fits = has_channels,
      .build = frozen_batch_norm,
      .words =
          "batch normalisation of {num_features} channels by given means and variances (eps {eps})",
      .ways = {{"nn.BatchNorm{r}d({num_features}[[, eps={eps}]]).eval()", ""},
               {"",
                "F.batch_norm({x}, {running_mean}, {running_var}, {weight}, {bias}, "
                "training=False, eps={eps})"},
               {"",
                "({x} - {running_mean}.view({spread})) / torch.sqrt({running_var}.view({spread}) + "
                "{eps}) * {weight}.view({spread}) + {bias}.view({spread})"},
               {"", R"({t:scale} = {weight} / torch.sqrt({running_var} + {eps})
{t:shift} = {bias} - {running_mean} * {t:scale}
{x} * {t:scale}.reshape({spread}) + {t:shift}.reshape({spread}))"},
               {"",
                "torch.nn.functional.batch_norm({x}, {running_mean}, {running_var}, {weight}, "
                "{bias}, False, 0.1, {eps})"}},
      .half = false};
}

OpSpec instance_norm_operator() {
  return {.name = "instance_norm",
          .weight = 1.5,
          .tier = 3,
          .domain = Domain::kImage,
          .fits = has_places,
          .build = instance_norm,
          .words = "instance normalisation of {num_features} channels (eps {eps})",
          .ways = {{"nn.InstanceNorm{r}d({num_features}[[, eps={eps}]])", ""},
                   {"", "F.instance_norm({x}[[, eps={eps}]])"},
                   {"", R"({t:mean} = {x}.mean(dim=({dims}), keepdim=True)
{t:var} = {x}.var(dim=({dims}), keepdim=True, unbiased=False)
({x} - {t:mean}) / torch.sqrt({t:var} + {eps}))"},
                   {"", R"({t:centered} = {x} - torch.mean({x}, dim=({dims}), keepdim=True)
{t:centered} * torch.rsqrt(({t:centered} ** 2).mean(dim=({dims}), keepdim=True) + {eps}))"},
                   {"", "F.group_norm({x}, {num_features}, eps={eps})"}},
          .forgets_shifts = true,
          .half = false};
}

OpSpec group_norm_operator() {
  return {
      .name = "group_norm",
      .weight = 2,
      .tier = 3,
      .domain = Domain::kImage,
      .fits = has_groups_to_norm,
      .build = group_norm,
      .words = "group normalisation of {num_channels} channels in {num_groups} groups (eps {eps})",
      .ways = {
          {"nn.GroupNorm({num_groups}, {num_channels}[[, eps={eps}]])", ""},
          {"nn.GroupNorm(num_groups={num_groups}, num_channels={num_channels}[[, eps={eps}]])", ""},
          {"", "F.group_norm({x}, {num_groups}, {weight}, {bias}[[, eps={eps}]])"},
          {"", "torch.nn.functional.group_norm({x}, {num_groups}, {weight}, {bias}, {eps})"},
          {"", R"({t:g} = {x}.reshape({x}.shape[0], {num_groups}, -1)
{t:mean} = {t:g}.mean(dim=2, keepdim=True)
{t:var} = {t:g}.var(dim=2, unbiased=False, keepdim=True)
{t:g} = (({t:g} - {t:mean}) / torch.sqrt({t:var} + {eps})).reshape({x}.shape)
{t:g} * {weight}.view({spread}) + {bias}.view({spread}))"},
          {"", "torch.group_norm({x}, {num_groups}, {weight}, {bias}, {eps})"},
          {"", R"({t:groups} = {x}.unflatten(1, ({num_groups}, -1)).flatten(2)
{t:var}, {t:mean} = torch.var_mean({t:groups}, dim=-1, unbiased=False, keepdim=True)
{t:normed} = ({t:groups} - {t:mean}) * torch.rsqrt({t:var} + {eps})
torch.addcmul({bias}.view({spread}), {t:normed}.reshape({x}.shape), {weight}.view({spread})))"}}};
}

OpSpec l2_normalize_operator() {
  return {
      .name = "l2_normalize",
      .tier = 2,
      .fits = has_channels,
      .build = [](Builder& b) { length_norm(b, 2); },
      .words = "division by the 2-norm along dimension {dim}",
      .ways = {{"", "F.normalize({x}, p=2, dim={dim})"},
               {"", "F.normalize({x}, dim={dim})"},
               {"", "{x} / torch.norm({x}, p=2, dim={dim}, keepdim=True).clamp(min=1e-12)"},
               {"", "{x} / {x}.norm(dim={dim}, keepdim=True).clamp(min=1e-12)"},
               {"",
                "{x} / torch.sqrt(torch.sum({x} ** 2, dim={dim}, keepdim=True)).clamp_min(1e-12)"}},
      .half = false};
}

OpSpec l1_normalize_operator() {
  return {
      .name = "l1_normalize",
      .weight = 0.7,
      .tier = 2,
      .fits = has_channels,
      .build = [](Builder& b) { length_norm(b, 1); },
      .words = "division by the 1-norm along dimension {dim}",
      .ways = {{"", "F.normalize({x}, p=1, dim={dim})"},
               {"", "{x} / torch.sum(torch.abs({x}), dim={dim}, keepdim=True).clamp(min=1e-12)"},
               {"", "{x} / {x}.abs().sum(dim={dim}, keepdim=True).clamp_min(1e-12)"},
               {"", "{x} / torch.norm({x}, p=1, dim={dim}, keepdim=True).clamp(min=1e-12)"},
               {"",
                "torch.div({x}, torch.linalg.vector_norm({x}, ord=1, dim={dim}, "
                "keepdim=True).clamp(min=1e-12))"}},
      .half = false};
}

OpSpec log_softmax_operator() {
  return {.name = "log_softmax",
          .weight = 2,
          .tier = 3,
          .fits = is_wide_in_channels,
          .build = log_softmax,
          .words = "the logarithm of softmax over dimension {dim}",
          .ways = {{"nn.LogSoftmax(dim={dim})", ""},
                   {"", "F.log_softmax({x}, dim={dim})"},
                   {"", "torch.log_softmax({x}, dim={dim})"},
                   {"", "{x}.log_softmax(dim={dim})"},
                   {"", "{x} - torch.logsumexp({x}, dim={dim}, keepdim=True)"},
                   {"", "torch.log(torch.softmax({x}, dim={dim}))"}}};
}

}  // namespace

std::vector<OpSpec> channel_norm_operators() {
  return in_half_too({batch_norm_operator(), frozen_batch_norm_operator(), instance_norm_operator(),
                      group_norm_operator(), l2_normalize_operator(), l1_normalize_operator(),
                      log_softmax_operator()});
}

}  // namespace kw::writer::generate
