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
  std::string all(lm::cuda::source::prelude);
  return {name, all.append(lm::cuda::source::rounding).append(text), {"KW_F32=0"}};
}

// Shared memory of a block of attention, as SharedLayout in attention_common.cu: tiles that stay, a
// ring of `stages` places, barriers, and room to begin at a multiple of 1024 bytes. All in bytes.
constexpr unsigned attention_bytes(unsigned stays, unsigned place, unsigned stages) {
  return stays + stages * place + 16 * stages + 16 + 1024;
}

constexpr std::int64_t kMaxWidth = 512 * 4 * 4;  // of a norm: threads, float4s a thread
constexpr std::int64_t kMaxHeadDim = 256;

}  // namespace

Status Kernels::load() {
  std::vector<ProgramSource> sources = {
      program("norms", source::norm),  program("activations", source::silu),
      program("heads", source::heads), program("the LM head", source::lm_head),
      program("AdamW", source::adamw), program("the engine's rows", source::engine_rows)};
  const bool is_hopper = context_.architecture() == "sm_90a";
  const std::string hopper(lm::cuda::source::hopper);
  if (is_hopper) {
    sources.push_back(program("attention", hopper + std::string(source::attention_common) +
                                               std::string(source::attention_forward) +
                                               std::string(source::attention_backward)));
    sources.push_back(program("the LM head's loss", hopper + std::string(source::head_loss)));
  }
  const kw::cuda::Compiler compiler(context_.architecture(), os::cache_home() / "cubin");
  KW_TRY(const std::vector<std::string> cubins, compiler.compile_all(sources));
  kw::cuda::Module* const modules[] = {&norm_, &silu_, &heads_, &head_, &adamw_, &engine_rows_};
  if (is_hopper) {
    KW_TRY(attention_, kw::cuda::Module::load(cubins[std::size(modules)]));
    KW_TRY(head_loss_, kw::cuda::Module::load(cubins[std::size(modules) + 1]));
  }
  for (std::size_t i = 0; i < std::size(modules); ++i) {
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
  KW_TRY(finish_rows, engine_rows_.function("kw_finish_rows"));
  KW_TRY(scaled_silu, engine_rows_.function("kw_scaled_silu"));
  KW_TRY(add_parts, engine_rows_.function("kw_add_parts"));
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

Result<HeadLossKernel> Kernels::head_loss(std::int64_t vocabulary) const {
  constexpr std::int64_t kMaxEights = 5, kMaxBlocks = 8;  // of a thread; of a cluster
  const std::int64_t threads = (vocabulary + 7) / 8;
  HeadLossKernel out;
  for (std::int64_t blocks = 1; head_loss_ && blocks <= kMaxBlocks; blocks *= 2) {
    const std::int64_t all = blocks * kHeadLossThreads, eights = (threads + all - 1) / all;
    if (eights > kMaxEights) continue;
    KW_TRY(out.function, head_loss_->function(fmt::format("kw_head_loss_{}", eights)));
    out.blocks = static_cast<unsigned>(blocks);
    return out;
  }
  return fail(ErrorCode::kUnsupported,
              "the LM head's loss in one kernel is for Hopper GPUs and vocabularies of up to {}",
              kMaxEights * kMaxBlocks * kHeadLossThreads * 8);
}

Result<AttentionKernels> Kernels::attention(std::int64_t head_dim) const {
  if (!attention_ || (head_dim != 64 && head_dim != 128))
    return fail(ErrorCode::kUnsupported,
                "the attention kernels are for Hopper GPUs and heads of 64 or 128");
  const auto row = static_cast<unsigned>(head_dim) * 2;  // bytes of a token of a head
  const unsigned keys = head_dim == 64 ? 128 : 64, stages = head_dim == 64 ? 2 : 3;
  AttentionKernels out;
  auto get = [&](AttentionPass& pass, const char* name, unsigned shared_bytes) -> Status {
    KW_TRY(pass.function, attention_->function(fmt::format("kw_attention_{}_{}", name, head_dim)));
    pass.shared_bytes = shared_bytes;
    return pass.function.allow_shared_bytes(shared_bytes);
  };
  KW_TRY_STATUS(get(out.forward, "forward", attention_bytes(128 * row, 2 * 128 * row, 2)));
  KW_TRY_STATUS(get(out.by_q, "by_q", attention_bytes(3 * 128 * row, 2 * keys * row, stages)));
  KW_TRY_STATUS(get(out.by_k_v, "by_k_v", attention_bytes(2 * 128 * row, 2 * 64 * row + 1024, 3)));
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
