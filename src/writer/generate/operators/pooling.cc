// Pooling and resizing.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool can_be_pooled(const Value& x, const Limits&) {
  if (x.dtype != tensor::DType::kFloat32 || x.shape.size() < 3 || x.shape.size() > 5) return false;
  return std::all_of(x.shape.begin() + 2, x.shape.end(), [](const Dim& d) { return d.n >= 4; });
}
bool is_uncentred_image(const Value& x, const Limits& limits) {
  return can_be_pooled(x, limits) && !x.centred;
}
bool is_plane_to_pool(const Value& x, const Limits& limits) {
  return can_be_pooled(x, limits) && x.shape.size() == 4 &&
         elements(x.shape) * 4 <= limits.max_elements;
}
bool is_plane_or_volume(const Value& x, const Limits& limits) {
  return can_be_pooled(x, limits) && x.shape.size() >= 4;
}

Dim pooled(const Dim& n, std::int64_t k, std::int64_t s, std::int64_t p, std::int64_t d) {
  const std::int64_t rest = 2 * p - d * (k - 1) - 1;
  const Dim steps = floor_div({n.size + rest, n.n + rest}, s);
  return {steps.size + 1, steps.n + 1};
}

struct Window {
  std::int64_t k = 2, s = 2, p = 0, d = 1;
};

Window draw_window(Builder& b, bool dilated) {
  std::int64_t smallest = 1 << 30;
  for (std::size_t i = 2; i < b.x().shape.size(); ++i)
    smallest = std::min(smallest, b.x().shape[i].n);
  Window out;
  out.k = std::min(b.pick<std::int64_t>({2, 2, 2, 3, 3, 4, 5}), smallest);
  out.s = b.chance(0.7) ? out.k : std::min<std::int64_t>(b.between(1, 3), out.k);
  out.p = b.chance(0.7) ? 0 : b.between(0, out.k / 2);
  out.d = dilated && b.chance(0.15) && 2 * (out.k - 1) + 1 <= smallest ? 2 : 1;
  b.whole("kernel_size", out.k);
  b.whole("stride", out.s, out.k);
  b.whole("padding", out.p, 0);
  if (dilated) b.whole("dilation", out.d, 1);
  return out;
}

Dims pooled_shape(const Dims& shape, const Window& w) {
  Dims out = {shape[0], shape[1]};
  for (std::size_t i = 2; i < shape.size(); ++i)
    out.push_back(pooled(shape[i], w.k, w.s, w.p, w.d));
  return out;
}

std::string listed(std::string_view text, std::size_t count, std::string_view between = ", ") {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += fmt::format("{}{}", i == 0 ? "" : between, text);
  return out;
}
// The operand with its border, and every window of it in dimensions of its own, the last ones.
void say_windows(Builder& b, const Window& w, std::string_view border) {
  const std::size_t rank = b.x().shape.size() - 2;
  const std::string pads = listed("{padding}", 2 * rank);
  b.text("bordered", w.p == 0 ? "{x}" : fmt::format("F.pad({{x}}, ({}){})", pads, border));
  std::string windows;
  for (std::size_t d = 0; d < rank; ++d)
    windows += fmt::format(".unfold({}, {{kernel_size}}, {{stride}})", d + 2);
  b.text("windows", windows);
  b.text("places", rank == 1 ? "-1" : rank == 2 ? "(-2, -1)" : "(-3, -2, -1)");
}
// One size for every dimension as a tuple, and for the first one or the others alone.
void say_sizes(Builder& b, std::int64_t size, std::size_t rank) {
  const std::string one = std::to_string(size);
  b.text("sizes", listed(one, rank));
  b.text("first_size", one + ", " + listed("None", rank - 1));
  b.text("other_sizes", "None, " + listed(one, rank - 1));
}

// One dimension is the second of two.
Dims as_plane(const Dims& shape) {
  return {shape[0], shape[1], Dim{1, 1}, shape[2]};
}

void max_pool(Builder& b) {
  const Dims shape = b.x().shape;
  const std::size_t rank = shape.size() - 2;
  b.text("r", std::to_string(rank));
  const Window w = draw_window(b, true);
  b.flag("dilated", w.d > 1);
  say_windows(b, w, ", value=float(\"-inf\")");
  Dims out = pooled_shape(shape, w);
  const bool line = rank == 1;
  const auto all = [&](std::int64_t v, std::int64_t first) {
    std::vector<std::int64_t> made(line ? 2 : rank, v);
    if (line) made[0] = first;
    return made;
  };
  const ValueId in =
      line ? b.call("view.default", {b.x(), as_plane(shape)}, as_plane(shape)) : b.x().id;
  const Dims made = line ? as_plane(out) : out;
  const int node = b.call_several(
      rank == 3 ? "max_pool3d_with_indices.default" : "max_pool2d_with_indices.default",
      {in, all(w.k, 1), all(w.s, 1), all(w.p, 0), all(w.d, 1), false},
      {type_of(made), std::nullopt});
  ValueId id = {node, 0};
  if (line) id = b.call("view.default", {id, out}, out);
  Value& pooled = b.result(id, out);
  pooled.plateaus = pooled.plateaus || w.s < w.k;
}

void avg_pool(Builder& b) {
  const Dims shape = b.x().shape;
  const std::size_t rank = shape.size() - 2;
  b.text("r", std::to_string(rank));
  const Window w = draw_window(b, false);
  say_windows(b, w, "");
  b.text("box", listed("{kernel_size}", rank));
  const Dims out = pooled_shape(shape, w);
  // Three dimensions of a smaller image, though padded, are refused on a GPU: other sizes might be.
  for (std::size_t d = 2; rank == 3 && d < shape.size(); ++d) {
    if (shape[d].n < 2 * w.k) b.fix(shape[d]);
  }
  const auto all = [&](std::int64_t v) { return std::vector<std::int64_t>(rank, v); };
  constexpr std::string_view kOps[] = {"avg_pool1d.default", "avg_pool2d.default",
                                       "avg_pool3d.default"};
  b.result(b.call(kOps[rank - 1], {b.x(), all(w.k), all(w.s), all(w.p), false, true}, out), out);
}

void global_avg_pool(Builder& b) {
  const Dims shape = b.x().shape;
  const std::size_t rank = shape.size() - 2;
  b.text("r", std::to_string(rank));
  std::vector<IntExpr> dims;
  Dims out = {shape[0], shape[1]};
  std::string text;
  for (std::size_t i = 0; i < rank; ++i) {
    dims.emplace_back(static_cast<std::int64_t>(i) + 2);
    text += (i == 0 ? "" : ", ") + std::to_string(i + 2);
    out.push_back({1, 1});
  }
  b.text("dims", rank == 1 ? text + "," : text);
  b.text("negative", rank == 1 ? "-1," : rank == 2 ? "-2, -1" : "-3, -2, -1");
  b.text("ones", listed("1", rank));
  const bool flat = b.flag("flat", b.chance(0.4));
  if (flat) out.resize(2);
  b.result(b.call("mean.dim", {b.x(), dims, !flat}, out), out);
}

void adaptive_avg_pool(Builder& b) {
  const Dims shape = b.x().shape;
  const std::size_t rank = shape.size() - 2;
  const std::int64_t n = b.between(2, std::min<std::int64_t>(7, shape[2].n));
  std::int64_t smallest = n;
  for (std::size_t i = 2; i < shape.size(); ++i) smallest = std::min(smallest, shape[i].n);
  b.whole("output_size", smallest);
  b.text("r", std::to_string(rank));
  say_sizes(b, smallest, rank);
  Dims out = {shape[0], shape[1]};
  for (std::size_t i = 0; i < rank; ++i) out.push_back({smallest, smallest});
  b.result(b.call(rank == 2 ? "_adaptive_avg_pool2d.default" : "_adaptive_avg_pool3d.default",
                  {b.x(), std::vector<std::int64_t>(rank, smallest)}, out),
           out);
}

void adaptive_max_pool(Builder& b) {
  const Dims shape = b.x().shape;
  const std::size_t rank = shape.size() - 2;
  std::int64_t smallest = b.between(1, 7);
  for (std::size_t i = 2; i < shape.size(); ++i) smallest = std::min(smallest, shape[i].n);
  b.whole("output_size", smallest);
  b.text("r", std::to_string(rank));
  say_sizes(b, smallest, rank);
  Dims out = {shape[0], shape[1]};
  for (std::size_t i = 0; i < rank; ++i) out.push_back({smallest, smallest});
  const int node = b.call_several(
      rank == 2 ? "adaptive_max_pool2d.default" : "adaptive_max_pool3d.default",
      {b.x(), std::vector<std::int64_t>(rank, smallest)}, {type_of(out), std::nullopt});
  b.result({node, 0}, out);
}

void upsample_nearest(Builder& b) {
  const Dims shape = b.x().shape;
  const std::int64_t factor = b.whole("scale_factor", 2);
  const Dims out = {shape[0], shape[1], times(shape[2], {factor, factor}),
                    times(shape[3], {factor, factor})};
  b.result(b.call("upsample_nearest2d.default",
                  {b.x(), Dims{out[2], out[3]}, double(factor), double(factor)}, out),
           out);
}

void upsample_bilinear(Builder& b) {
  const Dims shape = b.x().shape;
  const std::int64_t factor = b.whole("scale_factor", b.pick<std::int64_t>({2, 2, 3, 4}));
  const bool corners = b.flag("align_corners", b.chance(0.35));
  const Dims out = {shape[0], shape[1], times(shape[2], {factor, factor}),
                    times(shape[3], {factor, factor})};
  b.result(b.call("upsample_bilinear2d.default",
                  {b.x(), Dims{out[2], out[3]}, corners, double(factor), double(factor)}, out),
           out);
}

OpSpec max_pool_operator() {
  return {.name = "max_pool",
          .weight = 4,
          .tier = 2,
          .domain = Domain::kImage,
          .fits = can_be_pooled,
          .build = max_pool,
          .words =
              "{r}-d max pooling (kernel {kernel_size}, stride {stride}, padding {padding}, "
              "dilation {dilation})",
          .ways = {{"nn.MaxPool{r}d({kernel_size}[[, stride={stride}]][[, padding={padding}]][[, "
                    "dilation={dilation}]])",
                    ""},
                   {"nn.MaxPool{r}d(kernel_size={kernel_size}, stride={stride}, "
                    "padding={padding}[[, dilation={dilation}]])",
                    ""},
                   {"",
                    "F.max_pool{r}d({x}, {kernel_size}[[, stride={stride}]][[, "
                    "padding={padding}]][[, dilation={dilation}]])"},
                   {"",
                    "torch.max_pool{r}d({x}, {kernel_size}, stride={stride}, padding={padding}, "
                    "dilation={dilation})"},
                   {"",
                    "torch.nn.functional.max_pool{r}d({x}, kernel_size={kernel_size}, "
                    "stride={stride}, padding={padding}, dilation={dilation})"},
                   {"",
                    "F.max_pool{r}d({x}, {kernel_size}, {stride}, {padding}, {dilation}, "
                    "return_indices=True)[0]"},
                   {"nn.MaxPool{r}d({kernel_size}[[, stride={stride}]][[, padding={padding}]][[, "
                    "dilation={dilation}]], return_indices=True)",
                    R"({t:pooled}, {t:places} = self.{m}({x})
{t:pooled})"},
                   {"", "{bordered}{windows}.amax(dim={places})", "!dilated"}}};
}

OpSpec avg_pool_operator() {
  return {
      .name = "avg_pool",
      .weight = 3,
      .tier = 2,
      .domain = Domain::kImage,
      .fits = is_uncentred_image,
      .build = avg_pool,
      .words = "{r}-d average pooling (kernel {kernel_size}, stride {stride}, padding {padding})",
      .ways =
          {{"nn.AvgPool{r}d({kernel_size}[[, stride={stride}]][[, padding={padding}]])", ""},
           {"nn.AvgPool{r}d(kernel_size={kernel_size}, stride={stride}, padding={padding})", ""},
           {"", "F.avg_pool{r}d({x}, {kernel_size}[[, stride={stride}]][[, padding={padding}]])"},
           {"",
            "torch.nn.functional.avg_pool{r}d({x}, kernel_size={kernel_size}, stride={stride}, "
            "padding={padding})"},
           {"", "F.avg_pool{r}d({x}, {kernel_size}, {stride}, {padding})"},
           {"nn.AvgPool{r}d({kernel_size}, {stride}, {padding}, count_include_pad=True)", ""},
           {"", "{bordered}{windows}.mean(dim={places})"},
           {"",
            R"({t:box} = torch.ones({x}.shape[1], 1, {box}, dtype={x}.dtype, device={x}.device) / {kernel_size} ** {r}
F.conv{r}d({x}, {t:box}, stride={stride}[[, padding={padding}]], groups={x}.shape[1]))"}},
      .half = false};
}

OpSpec global_avg_pool_operator() {
  return {.name = "global_avg_pool",
          .weight = 2.5,
          .tier = 2,
          .domain = Domain::kImage,
          .fits = is_uncentred_image,
          .build = global_avg_pool,
          .words = "the mean over all positions of each channel (dropping them: {flat})",
          .ways = {{"nn.AdaptiveAvgPool{r}d(1)", "", "!flat"},
                   {"", "F.adaptive_avg_pool{r}d({x}, 1)", "!flat"},
                   {"", "{x}.mean(dim=({dims}), keepdim=True)", "!flat"},
                   {"", "torch.mean({x}, dim=({negative}), keepdim=True)", "!flat"},
                   {"", "{x}.flatten(2).mean(dim=2).reshape({x}.shape[0], {x}.shape[1], {ones})",
                    "!flat"},
                   {"", "torch.mean({x}, ({negative}))", "flat"},
                   {"", "F.adaptive_avg_pool{r}d({x}, 1).flatten(1)", "flat"},
                   {"", "{x}.mean(dim=({dims}))", "flat"},
                   {"", "{x}.flatten(2).mean(dim=2)", "flat"},
                   {"nn.AdaptiveAvgPool{r}d(1)", "torch.flatten(self.{m}({x}), 1)", "flat"}}};
}

OpSpec adaptive_avg_pool_operator() {
  return {
      .name = "adaptive_avg_pool",
      .tier = 3,
      .domain = Domain::kImage2,
      .fits = [](const Value& x,
                 const Limits& l) { return is_plane_or_volume(x, l) && !x.centred; },
      .build = adaptive_avg_pool,
      .words = "adaptive average pooling to {output_size} in each dimension",
      .ways = {{"nn.AdaptiveAvgPool{r}d({output_size})", ""},
               {"", "F.adaptive_avg_pool{r}d({x}, {output_size})"},
               {"", "torch.nn.functional.adaptive_avg_pool{r}d({x}, output_size={output_size})"},
               {"nn.AdaptiveAvgPool{r}d(output_size={output_size})", ""},
               {"torch.nn.AdaptiveAvgPool{r}d(({sizes}))", ""},
               {"", "F.adaptive_avg_pool{r}d({x}, ({sizes}))"},
               {"", R"({t:rows} = F.adaptive_avg_pool{r}d({x}, ({first_size}))
F.adaptive_avg_pool{r}d({t:rows}, ({other_sizes})))"}}};
}

OpSpec adaptive_max_pool_operator() {
  return {
      .name = "adaptive_max_pool",
      .weight = 0.8,
      .tier = 3,
      .domain = Domain::kImage2,
      .fits = is_plane_or_volume,
      .build = adaptive_max_pool,
      .words = "adaptive max pooling to {output_size} in each dimension",
      .ways = {{"nn.AdaptiveMaxPool{r}d({output_size})", ""},
               {"", "F.adaptive_max_pool{r}d({x}, {output_size})"},
               {"", "torch.nn.functional.adaptive_max_pool{r}d({x}, output_size={output_size})"},
               {"nn.AdaptiveMaxPool{r}d(output_size={output_size})", ""},
               {"", "F.adaptive_max_pool{r}d({x}, {output_size}, return_indices=True)[0]"},
               {"nn.AdaptiveMaxPool{r}d(({sizes}))", ""},
               {"",
                "F.adaptive_max_pool{r}d(F.adaptive_max_pool{r}d({x}, ({first_size})), "
                "({other_sizes}))"}}};
}

OpSpec upsample_nearest_operator() {
  return {.name = "upsample_nearest",
          .weight = 0.7,
          .tier = 2,
          .domain = Domain::kImage2,
          .fits = is_plane_to_pool,
          .build = upsample_nearest,
          .words = "nearest-neighbour upsampling by {scale_factor}",
          .ways = {{"nn.Upsample(scale_factor={scale_factor})", ""},
                   {R"(nn.Upsample(scale_factor={scale_factor}, mode="nearest"))", ""},
                   {"nn.UpsamplingNearest2d(scale_factor={scale_factor})", ""},
                   {"", "F.interpolate({x}, scale_factor={scale_factor})"},
                   {"", R"(F.interpolate({x}, scale_factor={scale_factor}, mode="nearest"))"},
                   {"",
                    "{x}.repeat_interleave({scale_factor}, "
                    "dim=2).repeat_interleave({scale_factor}, dim=3)"}}};
}

OpSpec upsample_bilinear_operator() {
  return {
      .name = "upsample_bilinear",
      .weight = 0.9,
      .tier = 3,
      .domain = Domain::kImage2,
      .fits =
          [](const Value& x, const Limits& l) {
            return is_plane_to_pool(x, l) && elements(x.shape) * 16 <= l.max_elements;
          },
      .build = upsample_bilinear,
      .words = "bilinear upsampling by {scale_factor} (corners aligned: {align_corners})",
      .ways =
          {{R"(nn.Upsample(scale_factor={scale_factor}, mode="bilinear", align_corners={align_corners}))",
            ""},
           {R"(nn.Upsample(scale_factor={scale_factor}, mode="bilinear"))", "", "!align_corners"},
           {"nn.UpsamplingBilinear2d(scale_factor={scale_factor})", "", "align_corners"},
           {"",
            R"(F.interpolate({x}, scale_factor={scale_factor}, mode="bilinear", align_corners={align_corners}))"},
           {"",
            R"(F.interpolate({x}, size=({x}.shape[2] * {scale_factor}, {x}.shape[3] * {scale_factor}), mode="bilinear", align_corners={align_corners}))"},
           {"", R"({t:height}, {t:width} = {x}.shape[-2:]
F.interpolate({x}, ({scale_factor} * {t:height}, {scale_factor} * {t:width}), mode="bilinear", align_corners={align_corners}))"},
           {"",
            R"(torch.nn.functional.interpolate({x}, scale_factor=({scale_factor}, {scale_factor}), mode="bilinear", align_corners={align_corners}))"}},
      .half = false};
}

}  // namespace

std::vector<OpSpec> pooling_operators() {
  return in_half_too({max_pool_operator(), avg_pool_operator(), global_avg_pool_operator(),
                      adaptive_avg_pool_operator(), adaptive_max_pool_operator(),
                      upsample_nearest_operator(), upsample_bilinear_operator()});
}

}  // namespace kw::writer::generate
