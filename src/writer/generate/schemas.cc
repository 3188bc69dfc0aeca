#include "writer/generate/schemas.h"

#include <map>

#include "base/check.h"
#include "base/text.h"

namespace kw::writer::generate {
namespace {

// A line each: NAME|ARGUMENT or ARGUMENT=DEFAULT, separated by spaces.
constexpr std::string_view kSchemas = R"(_adaptive_avg_pool2d.default|self output_size
_adaptive_avg_pool3d.default|self output_size
_log_softmax.default|self dim half_to_float
_native_batch_norm_legit.no_stats|input weight bias training momentum eps
_native_batch_norm_legit_no_training.default|input weight bias running_mean running_var momentum eps
_softmax.default|self dim half_to_float
_to_copy.default|self dtype=None layout=None device=None pin_memory=None non_blocking=False memory_format=None
abs.default|self
adaptive_max_pool2d.default|self output_size
adaptive_max_pool3d.default|self output_size
add.Tensor|self other alpha=1
addmm.default|self mat1 mat2 beta=1 alpha=1
amax.default|self dim=[] keepdim=False
amin.default|self dim=[] keepdim=False
any.dim|self dim keepdim=False
arange.start_step|start end step=1 dtype=None layout=None device=None pin_memory=None
argmax.default|self dim=None keepdim=False
argmin.default|self dim=None keepdim=False
atan.default|self
avg_pool1d.default|self kernel_size stride=[] padding=[0] ceil_mode=False count_include_pad=True
avg_pool2d.default|self kernel_size stride=[] padding=[0,0] ceil_mode=False count_include_pad=True divisor_override=None
avg_pool3d.default|self kernel_size stride=[] padding=[0,0,0] ceil_mode=False count_include_pad=True divisor_override=None
bitwise_and.Scalar|self other
bitwise_left_shift.Tensor_Scalar|self other
bitwise_or.Tensor|self other
bitwise_right_shift.Tensor|self other
bitwise_right_shift.Tensor_Scalar|self other
bitwise_xor.Tensor|self other
bmm.default|self mat2
cat.default|tensors dim=0
clamp.default|self min=None max=None
constant_pad_nd.default|self pad value=0
convolution.default|input weight bias stride padding dilation transposed output_padding groups
cos.default|self
cummax.default|self dim
cummin.default|self dim
cumprod.default|self dim dtype=None
cumsum.default|self dim dtype=None
diagonal.default|self offset=0 dim1=0 dim2=1
div.Tensor|self other
elu.default|self alpha=1 scale=1 input_scale=1
embedding.default|weight indices padding_idx=-1 scale_grad_by_freq=False sparse=False
eq.Scalar|self other
eq.Tensor|self other
erf.default|self
exp.default|self
expand.default|self size implicit=False
expm1.default|self
flip.default|self dims
floor.default|self
full.default|size fill_value dtype=None layout=None device=None pin_memory=None
gather.default|self dim index sparse_grad=False
ge.Scalar|self other
ge.Tensor|self other
gelu.default|self approximate='none'
gt.Scalar|self other
gt.Tensor|self other
hardsigmoid.default|self
hardswish.default|self
hardtanh.default|self min_val=-1 max_val=1
le.Scalar|self other
le.Tensor|self other
index_add.default|self dim index source alpha=1
leaky_relu.default|self negative_slope=0.01
linalg_vector_norm.default|self ord=2 dim=None keepdim=False dtype=None
log.default|self
log1p.default|self
logcumsumexp.default|self dim
logical_and.default|self other
logical_not.default|self
logsumexp.default|self dim keepdim=False
lt.Scalar|self other
lt.Tensor|self other
max.dim|self dim keepdim=False
median.dim|self dim keepdim=False
max_pool2d_with_indices.default|self kernel_size stride=[] padding=[0,0] dilation=[1,1] ceil_mode=False
max_pool3d_with_indices.default|self kernel_size stride=[] padding=[0,0,0] dilation=[1,1,1] ceil_mode=False
maximum.default|self other
mean.default|self dtype=None
mean.dim|self dim keepdim=False dtype=None
min.dim|self dim keepdim=False
minimum.default|self other
mish.default|self
mm.default|self mat2
mul.Tensor|self other
native_group_norm.default|input weight bias N C HxW group eps
native_layer_norm.default|input normalized_shape weight bias eps
ne.Scalar|self other
neg.default|self
nll_loss_forward.default|self target weight reduction ignore_index
permute.default|self dims
pow.Tensor_Scalar|self exponent
pow.Scalar|self exponent
prod.dim_int|self dim keepdim=False dtype=None
reciprocal.default|self
relu.default|self
remainder.Tensor|self other
round.default|self
rsqrt.default|self
scatter.src|self dim index src
select.int|self dim index
sigmoid.default|self
sign.default|self
silu.default|self
sin.default|self
slice.Tensor|self dim=0 start=None end=None step=1
softplus.default|self beta=1 threshold=20
sort.default|self dim=-1 descending=False
sort.stable|self stable dim=-1 descending=False
sqrt.default|self
sub.Tensor|self other alpha=1
sum.default|self dtype=None
sum.dim_IntList|self dim keepdim=False dtype=None
tanh.default|self
topk.default|self k dim=-1 largest=True sorted=True
unfold.default|self dimension size step
unsqueeze.default|self dim
upsample_bilinear2d.default|self output_size align_corners scales_h=None scales_w=None
upsample_nearest2d.default|self output_size scales_h=None scales_w=None
var.correction|self dim=None correction=None keepdim=False
view.default|self size
where.self|condition self other)";

Attribute parsed(std::string_view text) {
  if (text == "None") return {};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
  if (text.front() == '[') {
    std::vector<IntExpr> out;
    const std::string inside(text.substr(1, text.size() - 2));
    if (!inside.empty())
      for (const std::string& one : split(inside, ',')) out.emplace_back(std::stoll(one));
    return out;
  }
  if (text.find('.') != std::string_view::npos) return std::stod(std::string(text));
  return IntExpr(std::stoll(std::string(text)));
}

struct Argument {
  std::string name;
  std::optional<Attribute> otherwise;
};
using Table = std::map<std::string, std::vector<Argument>, std::less<>>;

Table make_table() {
  Table out;
  for (const std::string& line : split(kSchemas, '\n')) {
    const std::size_t bar = line.find('|');
    std::vector<Argument>& arguments = out[line.substr(0, bar)];
    for (const std::string& one : split(std::string_view(line).substr(bar + 1), ' ')) {
      const std::size_t sign = one.find('=');
      Argument argument{one.substr(0, sign), {}};
      if (sign != std::string::npos)
        argument.otherwise = parsed(std::string_view(one).substr(sign + 1));
      arguments.push_back(std::move(argument));
    }
  }
  return out;
}

}  // namespace

std::vector<std::pair<std::string, Attribute>> with_defaults(std::string_view op,
                                                             std::vector<Attribute> given) {
  static const Table table = make_table();
  const auto found = table.find(op);
  KW_CHECK(found != table.end());
  const std::vector<Argument>& arguments = found->second;
  KW_CHECK(given.size() <= arguments.size());
  std::vector<std::pair<std::string, Attribute>> out;
  for (std::size_t i = 0; i < given.size(); ++i)
    out.emplace_back(arguments[i].name, std::move(given[i]));
  for (std::size_t i = given.size(); i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    KW_CHECK(argument.otherwise);
    out.emplace_back(argument.name, *argument.otherwise);
  }
  return out;
}

}  // namespace kw::writer::generate
