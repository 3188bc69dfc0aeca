// The Triton compiler role's table: every kernel of an accepted one lies inside the artefact.
#include "fuzz.h"
#include "gym/compile/triton_build.h"

namespace kw::fuzz {

KW_FUZZ(triton_build, text) {
  auto build = gym::read_triton_build(text);
  if (!accepted(build)) return;
  KW_CHECK(build->kernels.size() <= gym::kMaxTritonKernels);
  for (const gym::TritonKernel& kernel : build->kernels) {
    KW_CHECK(kernel.identity.size() == 64 && !kernel.name.empty() && kernel.name.size() < 96);
    KW_CHECK(kernel.num_warps > 0 && kernel.num_ctas > 0);
    KW_CHECK(kernel.cubin_offset <= text.size() &&
             kernel.cubin_bytes <= text.size() - kernel.cubin_offset);
  }
}

}  // namespace kw::fuzz
