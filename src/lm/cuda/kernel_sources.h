// The kernels' sources, kernels/*.cu, as the build put them into this program.
#pragma once
#include <string_view>

namespace kw::lm::cuda::source {

extern const std::string_view prelude, rounding, norm, silu, heads, attention_decode,
    attention_prefill, attention_exact, hopper, matmul, sampling, initial;

}  // namespace kw::lm::cuda::source
