// Checks where our kernels' operands begin. The kernels load and store up to 16 bytes at once; an
// operand that begins elsewhere ends the GPU's context, and the error names no operand. These
// checks name it before the launch. No GPU is asked.
#pragma once
#include <initializer_list>
#include <string_view>

#include "lm/cuda/kernels.h"

namespace kw::lm::cuda {

struct Operand {
  std::string_view name;
  DevicePointer address = 0;
  unsigned alignment = 1;  // bytes
  bool optional = false;   // 0 is allowed
};

// kInternal names the kernel and the first operand that is not there, or begins elsewhere.
Status check_operands(std::string_view kernel, std::initializer_list<Operand> operands);

// The same for all operands of a kernel as kernels.h declares them, and for pitches and widths
// that decide where a row begins. Tensor maps are opaque: map_of_boxes() checks what they describe.
Status check_operands(const NormInput& in);
Status check_operands(MatmulOutput output, const MatmulInput& in);
// kernel: kw_heads, or an attention of which this is a part.
Status check_operands(std::string_view kernel, const HeadInput& in);
Status check_operands(const DecodeInput& in);
Status check_operands(const PrefillInput& in);

}  // namespace kw::lm::cuda
