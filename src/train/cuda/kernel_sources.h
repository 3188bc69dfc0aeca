// The trainer's kernels, kernels/*.cu, as the build put them into this program. They are compiled
// after the engine's prelude.cu and rounding.cu, and some after others of its files: those of
// attention, as one, and head_loss after hopper.cu, decoded_attention after heads.cu and
// attention_decode.cu, adding_matmul after hopper.cu and matmul.cu.
#pragma once
#include <string_view>

namespace kw::train::cuda::source {

extern const std::string_view norm, silu, heads, lm_head, head_loss, adamw, engine_rows,
    attention_common, attention_forward, attention_backward, decoded_attention, adding_matmul;

}  // namespace kw::train::cuda::source
