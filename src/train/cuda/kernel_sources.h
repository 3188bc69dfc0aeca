// The trainer's kernels, kernels/*.cu, as the build put them into this program. They are compiled
// after the engine's prelude.cu and rounding.cu; the parts of attention, as one, and head_loss
// after its hopper.cu too.
#pragma once
#include <string_view>

namespace kw::train::cuda::source {

extern const std::string_view norm, silu, heads, lm_head, head_loss, adamw, engine_rows,
    attention_common, attention_forward, attention_backward;

}  // namespace kw::train::cuda::source
