// The trainer's kernels, kernels/*.cu, as the build put them into this program. They are compiled
// after the engine's prelude.cu, attention after its hopper.cu too.
#pragma once
#include <string_view>

namespace kw::train::cuda::source {

extern const std::string_view norm, silu, heads, lm_head, adamw, attention;

}  // namespace kw::train::cuda::source
