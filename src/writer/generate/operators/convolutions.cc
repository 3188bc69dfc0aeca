// Convolutions of every rank: strides, padding, dilation, groups, transposed.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_image(const Value& x, const Limits& limits) {
  const std::size_t rank = x.shape.size();
  if (x.dtype != tensor::DType::kFloat32 || rank < 3 || rank > 5 || x.magnitude() > 1e4)
    return false;
  if (x.shape[1].n > 4096) return false;
  for (std::size_t d = 2; d < rank; ++d) {
    if (x.shape[d].n < 3) return false;
  }
  return elements(x.shape) * 16 <= limits.max_work;
}

std::int64_t divisor_of(Builder& b, std::int64_t n) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 2; d <= std::min<std::int64_t>(n, 32); ++d) {
    if (n % d == 0) found.push_back(d);
  }
  return found.empty() ? 1 : found[b.rng.below(found.size())];
}

// (n + 2 p - d (k - 1) - 1) // s + 1
Dim convolved(const Dim& n, std::int64_t k, std::int64_t s, std::int64_t p, std::int64_t d) {
  const Dim top = {n.size + (2 * p - d * (k - 1) - 1), n.n + 2 * p - d * (k - 1) - 1};
  const Dim steps = floor_div(top, s);
  return {steps.size + 1, steps.n + 1};
}

struct Windows {
  std::vector<std::int64_t> kernel, stride, padding, dilation;
};

Windows windows_of(Builder& b, const Dims& shape) {
  const std::size_t rank = shape.size() - 2;
  const std::int64_t usual = b.pick<std::int64_t>({3, 3, 3, 1, 5, 7, 4, 2, 11});
  const bool asymmetric = rank > 1 && b.chance(0.12);
  const std::int64_t stride = b.chance(0.65) ? 1 : b.pick<std::int64_t>({2, 2, 2, 3, 4});
  const std::int64_t dilation = b.chance(0.88) ? 1 : b.pick<std::int64_t>({2, 2, 3});
  const double same = b.rng.uniform();
  Windows out;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t n = shape[i + 2].n;
    std::int64_t k = asymmetric ? b.pick<std::int64_t>({1, 3, 5, 7, 2}) : usual;
    std::int64_t d = dilation;
    if (k > n) k = std::min<std::int64_t>(n, 3);
    if (d * (k - 1) + 1 > n) d = 1;
    const std::int64_t half = d * (k - 1) / 2;
    out.kernel.push_back(k);
    out.stride.push_back(std::min(stride, n));
    out.padding.push_back(same < 0.5   ? half
                          : same < 0.8 ? 0
                                       : std::min<std::int64_t>(b.between(1, 2), k));
    out.dilation.push_back(d);
  }
  return out;
}

std::string comma_list(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}
std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}
// As F.pad wants it: the last dimension first, both sides.
std::string pads_text(const std::vector<std::int64_t>& padding) {
  std::vector<std::int64_t> out;
  for (std::size_t d = padding.size(); d-- > 0;) out.insert(out.end(), 2, padding[d]);
  return comma_list(out);
}
// The size of the result along dimension `d` of the window, in terms of the operand's.
std::string width_text(const Windows& w, std::size_t d) {
  const std::int64_t rest = 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
  std::string size = fmt::format("{{x}}.shape[{}]", d + 2);
  if (w.stride[d] > 1) return fmt::format("({} - {}) // {} + 1", size, -rest, w.stride[d]);
  if (rest == -1) return size;
  return fmt::format("{} {} {}", size, rest < -1 ? '-' : '+', std::abs(rest + 1));
}

std::int64_t volume(const std::vector<std::int64_t>& kernel) {
  std::int64_t out = 1;
  for (const std::int64_t k : kernel) out *= k;
  return out;
}

void forward_convolution(Builder& b, std::int64_t groups, bool depthwise) {
  const Dims shape = b.x().shape;
  const std::size_t rank = shape.size() - 2;
  const Dim& in = shape[1];
  const Windows w = windows_of(b, shape);
  Dims out = {shape[0], {}};
  for (std::size_t i = 0; i < rank; ++i)
    out.push_back(convolved(shape[i + 2], w.kernel[i], w.stride[i], w.padding[i], w.dilation[i]));
  out[1] = {1, 1};
  const std::int64_t places = elements(out);
  const std::int64_t each = in.n / groups;  // input channels of a group
  const std::int64_t window = volume(w.kernel);
  const std::int64_t most =
      std::min({std::int64_t{2048}, b.limits.max_work / (places * each * window) + 1,
                b.limits.max_elements / places + 1, (std::int64_t{1} << 23) / (each * window) + 1});
  Dim channels;
  if (depthwise) {
    const std::int64_t copies = b.chance(0.8) || most < 2 * in.n ? 1 : 2;
    channels = {in.size * copies, in.n * copies};
  } else {
    const std::int64_t a_group = b.size(1, std::max<std::int64_t>(1, most / groups));
    channels = b.axis("out_channels", a_group * groups);
  }
  out[1] = channels;
  b.text("r", std::to_string(rank));
  const bool bias = b.flag("bias", b.chance(0.75), true);
  b.size_of("in_channels", in);
  b.size_of("out_channels", channels);
  b.tuple("kernel_size", w.kernel);
  b.tuple("stride", w.stride, 1);
  b.tuple("padding", w.padding, 0);
  b.tuple("dilation", w.dilation, 1);
  if (depthwise)
    b.step().params.push_back({"groups", in, false});
  else
    b.whole("groups", groups, 1);
  const bool same =
      std::all_of(w.stride.begin(), w.stride.end(), [](auto s) { return s == 1; }) &&
      std::equal(w.padding.begin(), w.padding.end(), w.kernel.begin(),
                 [&](auto p, auto k) { return k % 2 == 1 && 2 * p == w.dilation[0] * (k - 1); }) &&
      std::all_of(w.dilation.begin(), w.dilation.end(), [&](auto d) { return d == w.dilation[0]; });
  b.flag("same", same && volume(w.kernel) > 1);
  b.flag("pointwise", volume(w.kernel) == 1 && groups == 1 && rank == 2 && w.stride[0] == 1 &&
                          w.stride[1] == 1 && w.padding[0] == 0 && w.padding[1] == 0);
  b.flag("padded", w.padding != std::vector<std::int64_t>(rank, 0));
  // Its columns are as many as the window is large.
  b.flag("unfolds", rank == 2 && groups == 1 && places * in.n * window <= b.limits.max_elements);
  if (rank == 2) b.text("out_width", width_text(w, 1));
  b.text("strides", comma_list(w.stride));
  b.text("paddings", comma_list(w.padding));
  b.text("dilations", comma_list(w.dilation));
  b.text("zeros", comma_list(std::vector<std::int64_t>(rank, 0)));
  b.text("pads", pads_text(w.padding));
  b.text("spread", comma_list({-1}) + repeated(", 1", rank));
  const Dim fan = {each * window, each * window};
  Dims window_shape = {channels, depthwise ? Dim{1, 1} : groups == 1 ? in : floor_div(in, groups)};
  for (const std::int64_t k : w.kernel) window_shape.push_back({k, k});
  const ValueId weight = b.weight("weight", window_shape, Start::kWeight, fan).id;
  const Arg shift = bias ? Arg(b.weight("bias", {channels}, Start::kWeight, fan)) : Arg(nullptr);
  b.fix(in);
  const Arg count = depthwise ? Arg(in) : Arg(groups);
  b.result(b.call("convolution.default",
                  {b.x(), weight, shift, w.stride, w.padding, w.dilation, false,
                   std::vector<std::int64_t>(rank, 0), count},
                  out),
           out)
      .range(-b.x().magnitude(), b.x().magnitude());
}

void convolution(Builder& b) {
  forward_convolution(b, 1, false);
}
void grouped_convolution(Builder& b) {
  forward_convolution(b, divisor_of(b, b.x().shape[1].n), false);
}
void depthwise_convolution(Builder& b) {
  forward_convolution(b, b.x().shape[1].n, true);
}

bool has_groups(const Value& x, const Limits& limits) {
  if (!is_image(x, limits)) return false;
  for (std::int64_t d = 2; d <= 32; ++d) {
    if (x.shape[1].n % d == 0) return true;
  }
  return false;
}
bool has_many(const Value& x, const Limits& limits) {
  return is_image(x, limits) && x.shape[1].n >= 2;
}

// out = (n - 1) s - 2 p + d (k - 1) + o + 1
void transposed_convolution(Builder& b) {
  const Dims shape = b.x().shape;
  const std::size_t rank = shape.size() - 2;
  const Dim& in = shape[1];
  const std::int64_t k = b.pick<std::int64_t>({2, 3, 3, 4, 5}),
                     s = b.pick<std::int64_t>({1, 2, 2, 3});
  const std::int64_t p = b.chance(0.5) ? 0 : std::min<std::int64_t>(1, (k - 1) / 2);
  const std::int64_t o = s > 1 && b.chance(0.4) ? 1 : 0;
  const std::int64_t d = b.chance(0.9) ? 1 : 2;
  const std::int64_t groups = b.chance(0.85) ? 1 : divisor_of(b, in.n);
  const auto all = [&](std::int64_t v) { return std::vector<std::int64_t>(rank, v); };
  Dims out = {shape[0], {1, 1}};
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim& n = shape[i + 2];
    const std::int64_t rest = d * (k - 1) + o + 1 - 2 * p - s;
    out.push_back({n.size * s + rest, n.n * s + rest});
  }
  const std::int64_t places = elements(out), window = volume(all(k));
  const std::int64_t most = std::min(
      {std::int64_t{1024}, b.limits.max_work / (elements(shape) * window) * groups + 1,
       b.limits.max_elements / places + 1, (std::int64_t{1} << 23) / (in.n * window) * groups + 1});
  const Dim each =
      b.axis("out_channels", b.size(1, std::max<std::int64_t>(1, most / groups)) * groups);
  out[1] = each;
  b.text("r", std::to_string(rank));
  const bool bias = b.flag("bias", b.chance(0.75), true);
  b.size_of("in_channels", in);
  b.size_of("out_channels", each);
  b.tuple("kernel_size", all(k));
  b.tuple("stride", all(s), 1);
  b.tuple("padding", all(p), 0);
  b.tuple("output_padding", all(o), 0);
  b.tuple("dilation", all(d), 1);
  b.whole("groups", groups, 1);
  b.text("strides", comma_list(all(s)));
  b.text("paddings", comma_list(all(p)));
  b.text("output_paddings", comma_list(all(o)));
  b.text("dilations", comma_list(all(d)));
  Dims window_shape = {in, floor_div(each, groups)};
  for (std::size_t i = 0; i < rank; ++i) window_shape.push_back({k, k});
  const Dim fan = {in.n * window, in.n * window};
  const ValueId weight = b.weight("weight", window_shape, Start::kWeight, fan).id;
  const Arg shift = bias ? Arg(b.weight("bias", {each}, Start::kWeight, fan)) : Arg(nullptr);
  Value& result =
      b.result(b.call("convolution.default",
                      {b.x(), weight, shift, all(s), all(p), all(d), true, all(o), groups}, out),
               out);
  result.range(-b.x().magnitude(), b.x().magnitude());
  // Places that no element of the window reaches have the bias alone.
  std::set<std::int64_t> reached;
  for (std::int64_t j = 0; j < k; ++j) reached.insert(d * j % s);
  result.plateaus = result.plateaus || o > 0 || std::cmp_less(reached.size(), s);
}

// Of one group.
std::vector<Rendering> pointwise_ways() {
  return {
      {"", "torch.einsum(\"bchw,oc->bohw\", {x}, {weight}[:, :, 0, 0]) + {bias}[:, None, None]",
       "pointwise bias"},
      {"", "torch.einsum(\"bchw,oc->bohw\", {x}, {weight}[:, :, 0, 0])", "pointwise !bias"},
      {"",
       R"({t:cols} = F.unfold({x}, {kernel_size}[[, dilation={dilation}]][[, padding={padding}]][[, stride={stride}]])
{t:made} = torch.matmul({weight}.flatten(1), {t:cols}) + {bias}[:, None]
{t:made}.unflatten(-1, (-1, {out_width})))",
       "unfolds bias"},
      {"",
       R"({t:cols} = F.unfold({x}, {kernel_size}[[, dilation={dilation}]][[, padding={padding}]][[, stride={stride}]])
({weight}.flatten(1) @ {t:cols}).unflatten(-1, (-1, {out_width})))",
       "unfolds !bias"},
  };
}

std::vector<Rendering> forward_ways() {
  return {
      {"nn.Conv{r}d({in_channels}, {out_channels}, {kernel_size}[[, stride={stride}]][[, "
       "padding={padding}]][[, dilation={dilation}]][[, groups={groups}]][[, bias={bias}]])",
       ""},
      {"nn.Conv{r}d({in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}, "
       "padding={padding}[[, dilation={dilation}]][[, groups={groups}]][[, bias={bias}]])",
       ""},
      {"torch.nn.Conv{r}d(in_channels={in_channels}, out_channels={out_channels}, "
       "kernel_size={kernel_size}[[, stride={stride}]][[, padding={padding}]][[, "
       "dilation={dilation}]][[, groups={groups}]][[, bias={bias}]])",
       ""},
      {"nn.Conv{r}d({in_channels}, {out_channels}, {kernel_size}, padding=\"same\"[[, "
       "dilation={dilation}]][[, groups={groups}]][[, bias={bias}]])",
       "", "same"},
      {"nn.Conv{r}d({in_channels}, {out_channels}, {kernel_size}[[, stride={stride}]][[, "
       "padding={padding}]][[, dilation={dilation}]][[, groups={groups}]][[, bias={bias}]])",
       "F.conv{r}d({x}, self.{m}.weight, self.{m}.bias, self.{m}.stride, self.{m}.padding, "
       "self.{m}.dilation, self.{m}.groups)"},
      {"",
       "F.conv{r}d({x}, {weight}, {bias}[[, stride={stride}]][[, padding={padding}]][[, "
       "dilation={dilation}]][[, groups={groups}]])",
       "bias"},
      {"",
       "F.conv{r}d({x}, {weight}[[, stride={stride}]][[, padding={padding}]][[, "
       "dilation={dilation}]][[, groups={groups}]])",
       "!bias"},
      {"",
       "F.conv{r}d({x}, {weight}[[, stride={stride}]][[, padding={padding}]][[, "
       "dilation={dilation}]][[, groups={groups}]]) + {bias}.view({spread})",
       "bias"},
      {"",
       "F.conv{r}d(F.pad({x}, ({pads})), {weight}, {bias}[[, stride={stride}]][[, "
       "dilation={dilation}]][[, groups={groups}]])",
       "padded bias"},
      {"",
       "F.conv{r}d(F.pad({x}, ({pads})), {weight}[[, stride={stride}]][[, "
       "dilation={dilation}]][[, groups={groups}]])",
       "padded !bias"},
      {"", "torch.conv{r}d({x}, {weight}, {bias}, {stride}, {padding}, {dilation}, {groups})",
       "bias"},
      {"", "torch.conv{r}d({x}, {weight}, None, {stride}, {padding}, {dilation}, {groups})",
       "!bias"},
      {"",
       "torch.convolution({x}, {weight}, {bias}, [{strides}], [{paddings}], [{dilations}], False, "
       "[{zeros}], {groups})",
       "bias"},
      {"",
       "torch.convolution({x}, {weight}, None, [{strides}], [{paddings}], [{dilations}], False, "
       "[{zeros}], {groups})",
       "!bias"},
  };
}

std::vector<Rendering> ungrouped_ways() {
  std::vector<Rendering> out = forward_ways();
  for (const Rendering& way : pointwise_ways()) out.push_back(way);
  return out;
}

OpSpec conv_operator() {
  return {.name = "conv",
          .weight = 5,
          .tier = 3,
          .domain = Domain::kImage,
          .fits = is_image,
          .build = convolution,
          .words =
              "a {r}-d convolution ({in_channels} to {out_channels} channels, kernel "
              "{kernel_size}, stride {stride}, padding {padding}, dilation {dilation})",
          .ways = ungrouped_ways(),
          .attribute = "conv",
          .shifts_channels = true};
}

OpSpec grouped_conv_operator() {
  return {.name = "grouped_conv",
          .tier = 3,
          .domain = Domain::kImage,
          .fits = has_groups,
          .build = grouped_convolution,
          .words =
              "a {r}-d convolution in {groups} groups ({in_channels} to {out_channels} channels, "
              "kernel {kernel_size}, stride {stride}, padding {padding}, dilation {dilation})",
          .ways = forward_ways(),
          .attribute = "conv",
          .shifts_channels = true};
}

OpSpec depthwise_conv_operator() {
  return {.name = "depthwise_conv",
          .weight = 1.2,
          .tier = 3,
          .domain = Domain::kImage,
          .fits = has_many,
          .build = depthwise_convolution,
          .words =
              "a {r}-d depthwise convolution ({in_channels} channels, kernel {kernel_size}, stride "
              "{stride}, padding {padding}, dilation {dilation})",
          .ways = forward_ways(),
          .attribute = "conv",
          .shifts_channels = true};
}

OpSpec conv_transpose_operator() {
  return {
      .name = "conv_transpose",
      .weight = 2.5,
      .tier = 3,
      .domain = Domain::kImage,
      .fits = is_image,
      .build = transposed_convolution,
      .words =
          "a transposed {r}-d convolution ({in_channels} to {out_channels} channels, kernel "
          "{kernel_size}, stride {stride}, padding {padding})",
      .ways = {{"nn.ConvTranspose{r}d({in_channels}, {out_channels}, {kernel_size}[[, "
                "stride={stride}]][[, padding={padding}]][[, output_padding={output_padding}]][[, "
                "groups={groups}]][[, bias={bias}]][[, dilation={dilation}]])",
                ""},
               {"nn.ConvTranspose{r}d({in_channels}, {out_channels}, kernel_size={kernel_size}, "
                "stride={stride}, padding={padding}, output_padding={output_padding}[[, "
                "groups={groups}]][[, bias={bias}]][[, dilation={dilation}]])",
                ""},
               {"nn.ConvTranspose{r}d({in_channels}, {out_channels}, {kernel_size}[[, "
                "stride={stride}]][[, padding={padding}]][[, output_padding={output_padding}]][[, "
                "groups={groups}]][[, bias={bias}]][[, dilation={dilation}]])",
                "F.conv_transpose{r}d({x}, self.{m}.weight, self.{m}.bias, self.{m}.stride, "
                "self.{m}.padding, self.{m}.output_padding, self.{m}.groups, self.{m}.dilation)"},
               {"",
                "F.conv_transpose{r}d({x}, {weight}, {bias}[[, stride={stride}]][[, "
                "padding={padding}]][[, output_padding={output_padding}]][[, groups={groups}]][[, "
                "dilation={dilation}]])",
                "bias"},
               {"",
                "F.conv_transpose{r}d({x}, {weight}, None, {stride}, {padding}, {output_padding}, "
                "{groups}, {dilation})",
                "!bias"},
               {"",
                "torch.conv_transpose{r}d({x}, {weight}, {bias}, {stride}, {padding}, "
                "{output_padding}, {groups}, {dilation})",
                "bias"},
               {"",
                "torch.nn.functional.conv_transpose{r}d({x}, {weight}[[, stride={stride}]][[, "
                "padding={padding}]][[, output_padding={output_padding}]][[, groups={groups}]][[, "
                "dilation={dilation}]])",
                "!bias"},
               {"",
                "torch.conv_transpose{r}d({x}, {weight}, None, stride={stride}, "
                "padding={padding}, output_padding={output_padding}, groups={groups}, "
                "dilation={dilation})",
                "!bias"},
               {"",
                "torch.convolution({x}, {weight}, {bias}, [{strides}], [{paddings}], "
                "[{dilations}], True, [{output_paddings}], {groups})",
                "bias"},
               {"",
                "torch.convolution({x}, {weight}, None, [{strides}], [{paddings}], "
                "[{dilations}], True, [{output_paddings}], {groups})",
                "!bias"}},
      .attribute = "conv_transpose",
      .shifts_channels = true};
}

}  // namespace

std::vector<OpSpec> convolution_operators() {
  return in_half_too({conv_operator(), grouped_conv_operator(), depthwise_conv_operator(),
                      conv_transpose_operator()});
}

}  // namespace kw::writer::generate
