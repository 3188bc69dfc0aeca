#include "train/cuda/kernels.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>

#include "cuda/program.h"
#include "lm/cuda/kernel_sources.h"
#include "os/file.h"
#include "train/cuda/kernel_sources.h"

namespace kw::train::cuda {
namespace {

using kw::cuda::ProgramSource;

ProgramSource program(const char* name, std::string_view text) {
  return {name, std::string(lm::cuda::source::prelude) + std::string(text), {"KW_F32=0"}};
}

constexpr std::int64_t kMaxWidth = 512 * 4 * 4;  // of a norm: threads, float4s a thread
constexpr std::int64_t kMaxHeadDim = 256;

}  // namespace

Status Kernels::load() {
  const std::vector<ProgramSource> sources = {
      program("norms", source::norm), program("activations", source::silu),
      program("heads", source::heads), program("the LM head", source::lm_head),
      program("AdamW", source::adamw)};
  const kw::cuda::Compiler compiler(context_.architecture(), os::cache_home() / "cubin");
  KW_TRY(const std::vector<std::string> cubins, compiler.compile_all(sources));
  kw::cuda::Module* const modules[] = {&norm_, &silu_, &heads_, &head_, &adamw_};
  for (std::size_t i = 0; i < cubins.size(); ++i) {
    KW_TRY(*modules[i], kw::cuda::Module::load(cubins[i]));
  }
  KW_TRY(add_column_sums, norm_.function("kw_add_column_sums"));
  KW_TRY(silu_multiply, silu_.function("kw_silu_multiply"));
  KW_TRY(silu_multiply_backward, silu_.function("kw_silu_multiply_backward"));
  KW_TRY(head_statistics, head_.function("kw_head_statistics"));
  KW_TRY(head_gradient, head_.function("kw_head_gradient"));
  KW_TRY(squares, adamw_.function("kw_squares"));
  KW_TRY(norm_of_squares, adamw_.function("kw_norm_of_squares"));
  KW_TRY(adamw, adamw_.function("kw_adamw"));
  return {};
}

Result<NormKernels> Kernels::norm(std::int64_t width) const {
  if (width % 8 != 0 || width > kMaxWidth)
    return fail(ErrorCode::kUnsupported,
                "hidden_size {}: on a GPU, multiples of 8 up to {} are trained", width, kMaxWidth);
  NormKernels out;
  out.threads = width <= 128 * 4 * 4 ? 128 : 512;
  const std::int64_t fours = (width / 4 + out.threads - 1) / out.threads;
  const std::string size = fmt::format("{}_{}", out.threads, fours);
  KW_TRY(out.forward, norm_.function("kw_add_norm_" + size));
  KW_TRY(out.backward, norm_.function("kw_add_norm_backward_" + size));
  return out;
}

Result<HeadsKernels> Kernels::heads(std::int64_t head_dim) const {
  if (head_dim % 8 != 0 || head_dim > kMaxHeadDim)
    return fail(ErrorCode::kUnsupported,
                "head_dim {}: on a GPU, multiples of 8 up to {} are trained", head_dim,
                kMaxHeadDim);
  HeadsKernels out;
  out.group = 1;
  while (out.group < 32 && out.group * 4 < head_dim) out.group *= 2;
  const int twos = head_dim <= 128 ? 1 : 2;
  KW_TRY(out.forward, heads_.function(fmt::format("kw_heads_forward_{}", twos)));
  KW_TRY(out.backward, heads_.function(fmt::format("kw_heads_backward_{}", twos)));
  return out;
}

Result<const Kernels*> load_kernels() {
  static std::once_flag once;
  // Never destroyed: the driver may have gone before this library's objects do.
  static Kernels* loaded = nullptr;
  static std::optional<Error> error;
  std::call_once(once, [] {
    auto make = []() -> Status {
      KW_TRY(kw::cuda::Context context, kw::cuda::Context::open(0));
      loaded = new Kernels(std::move(context));
      return loaded->load();
    };
    if (Status made = make(); !made) error = std::move(made).error();
  });
  if (error) return tl::unexpected(*error);
  return loaded;
}

}  // namespace kw::train::cuda
