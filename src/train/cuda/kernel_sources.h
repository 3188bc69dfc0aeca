// The trainer's kernels, kernels/*.cu, as the build put them into this program. They are compiled
// after the engine's prelude.cu, attention and head_loss after its
// hopper.cu too.
#pragma once
#include <string_view>

namespace kw::train::cuda::source {

extern const std::string_view norm, silu, heads, lm_head, head_loss, adamw, attention;

}  // namespace kw::train::cuda::source
