#include "lm/cuda/kernels.h"

#include <algorithm>
#include <string>

#include "cuda/program.h"
#include "lm/cuda/kernel_sources.h"
#include "lm/cuda/matmul_tiling.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Compiler;
using kw::cuda::Context;
using kw::cuda::LaunchShape;
using kw::cuda::Module;
using kw::cuda::ProgramSource;

// Columns and stages: two blocks fit a multiprocessor, so that one can load while another computes.
constexpr int kMatmulShapes[][2] = {{64, 6}, {96, 5}, {128, 4}, {192, 3}};

// The kernels count it too, and refuse to compile when it differs.
unsigned decode_shared(std::int64_t d) {
  const std::int64_t row = (d + 8) * 2, stages = d <= 64 ? 6 : d <= 128 ? 3 : 2;
  const std::int64_t rings = 4 * stages * 2 * 16 * row;  // of 4 warps, 16 keys and 16 values each
  return static_cast<unsigned>(rings + 16 * row + 2 * d * 2 + std::int64_t{4} * 2 * 8 * 4 + 16);
}
unsigned prefill_shared(std::int64_t d) {
  const std::int64_t pitch = d + 8;
  return static_cast<unsigned>((2 + 4) * kPrefillTile * pitch * 2 + kPrefillTile * 4);
}

Status check_model(const ModelConfig& c, WeightType type) {
  if (type == WeightType::kInt8)
    return fail(ErrorCode::kUnsupported, "int8 weights on a GPU: take bfloat16");
  if (c.head_dim % 16 != 0 || c.head_dim > 256)
    return fail(ErrorCode::kUnsupported,
                "head_dim {}: on a GPU, multiples of 16 up to 256 are supported", c.head_dim);
  if (c.hidden % 8 != 0 || c.intermediate % 8 != 0)
    return fail(ErrorCode::kUnsupported,
                "hidden_size {} and intermediate_size {}: on a GPU, multiples of 8 are supported",
                c.hidden, c.intermediate);
  if (c.vocabulary > 1 << 19)
    return fail(ErrorCode::kUnsupported, "vocab_size {}: on a GPU, at most {} are supported",
                c.vocabulary, 1 << 19);
  return {};
}

template <typename... Parts>
std::string text_of(Parts... parts) {
  std::string out(source::prelude);
  out.append(source::rounding);
  (out.append(parts), ...);
  return out;
}

}  // namespace

std::vector<std::string> shape_definitions(const ModelConfig& c, WeightType type, int split_tiles) {
  return {fmt::format("KW_F32={}", type == WeightType::kFloat32 ? 1 : 0),
          fmt::format("KW_HIDDEN={}", c.hidden),
          fmt::format("KW_HEADS={}", c.heads),
          fmt::format("KW_KV_HEADS={}", c.kv_heads),
          fmt::format("KW_HEAD_DIM={}", c.head_dim),
          fmt::format("KW_INTERMEDIATE={}", c.intermediate),
          fmt::format("KW_VOCABULARY={}", c.vocabulary),
          fmt::format("KW_SPLIT_TILES={}", split_tiles),
          fmt::format("KW_DECODE_SHARED_BYTES={}", decode_shared(c.head_dim)),
          fmt::format("KW_PREFILL_SHARED_BYTES={}", prefill_shared(c.head_dim))};
}

unsigned MatmulVariant::shared_bytes() const {
  return static_cast<unsigned>(stages * ((columns + kMatmulRows) * kMatmulStep * 2 + 8));
}

LaunchShape MatmulVariant::launch_shape(int width, int splits, MatmulInput& in) const {
  in.steps = static_cast<std::int32_t>(divided_up(in.k / kMatmulStep, splits));
  in.row_blocks = static_cast<std::int32_t>(divided_up(in.rows, kMatmulRows));
  in.width = width;
  LaunchShape out;
  out.grid[0] = static_cast<unsigned>(divided_up(in.n, width) * in.row_blocks);
  out.grid[1] = static_cast<unsigned>(splits);
  out.cluster_y = output == MatmulOutput::kResidual ? out.grid[1] : 1;
  out.threads = 128;
  out.shared_bytes = shared_bytes();
  return out;
}

Result<Kernels> Kernels::make(const Context& context, const ModelConfig& c, WeightType type,
                              int split_tiles, const std::filesystem::path& cache) {
  KW_TRY_STATUS(check_model(c, type));
  if (context.compute_capability() < 90)
    return fail(ErrorCode::kUnsupported, "{}: compute capability 9.0 or later is needed",
                context.name());
  const bool float32 = type == WeightType::kFloat32;
  Kernels out;
  out.decode_shared_bytes = decode_shared(c.head_dim);
  out.prefill_shared_bytes = prefill_shared(c.head_dim);
  if (!float32 &&
      std::max(out.decode_shared_bytes, out.prefill_shared_bytes) > context.shared_bytes())
    return fail(ErrorCode::kUnsupported, "head_dim {}: {} has too little shared memory for it",
                c.head_dim, context.name());
  const std::vector<std::string> shape = shape_definitions(c, type, split_tiles);
  std::vector<ProgramSource> sources = {
      {"rows", text_of(source::norm, source::silu, source::heads, source::initial), shape},
      {"sampling", text_of(source::sampling), shape}};
  if (float32) {
    sources.push_back({"attention", text_of(source::heads, source::attention_exact), shape});
  } else {
    sources.push_back({"decoding", text_of(source::heads, source::attention_decode), shape});
    sources.push_back({"prompts", text_of(source::heads, source::attention_prefill), shape});
    for (const auto& [columns, stages] : kMatmulShapes) {
      sources.push_back({fmt::format("matmuls of {} columns", columns),
                         text_of(source::hopper, source::matmul),
                         {"KW_F32=0", fmt::format("KW_MATMUL_COLUMNS={}", columns),
                          fmt::format("KW_MATMUL_STAGES={}", stages)}});
    }
  }
  KW_TRY(std::vector<std::string> cubins,
         Compiler(context.architecture(), cache).compile_all(sources));
  for (const std::string& cubin : cubins) {
    KW_TRY(Module module, Module::load(cubin));
    out.modules_.push_back(std::move(module));
  }
  KW_TRY_STATUS(out.find(out.modules_, float32));
  return out;
}

Status Kernels::find(const std::vector<Module>& modules, bool float32) {
  KW_TRY(norm, modules[0].function("kw_norm"));
  KW_TRY(silu, modules[0].function("kw_silu"));
  KW_TRY(heads, modules[0].function("kw_heads"));
  KW_TRY(copy_slot, modules[0].function("kw_copy_slot"));
  KW_TRY(initial, modules[0].function("kw_initial"));
  KW_TRY(fill, modules[0].function("kw_fill"));
  KW_TRY(checksum, modules[0].function("kw_checksum"));
  KW_TRY(sample_statistics, modules[1].function("kw_sample_statistics"));
  KW_TRY(sample_choose, modules[1].function("kw_sample_choose"));
  if (float32) {
    KW_TRY(attention_exact, modules[2].function("kw_attention_exact"));
    return {};
  }
  KW_TRY(attention_decode, modules[2].function("kw_attention_decode"));
  KW_TRY_STATUS(attention_decode.allow_shared_bytes(decode_shared_bytes));
  KW_TRY(attention_prefill, modules[3].function("kw_attention_prefill"));
  KW_TRY_STATUS(attention_prefill.allow_shared_bytes(prefill_shared_bytes));
  for (std::size_t i = 0; i < std::size(kMatmulShapes); ++i) {
    for (MatmulOutput output : kMatmulOutputs) {
      MatmulVariant one{kMatmulShapes[i][0], kMatmulShapes[i][1], output, Function()};
      KW_TRY(one.function, modules[4 + i].function(std::string(kernel_name(output))));
      KW_TRY_STATUS(one.function.allow_shared_bytes(one.shared_bytes()));
      matmuls.push_back(one);
    }
  }
  return {};
}

}  // namespace kw::lm::cuda
