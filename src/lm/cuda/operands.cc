#include "lm/cuda/operands.h"

#include "lm/cuda/matmul_tiling.h"

namespace kw::lm::cuda {
namespace {

constexpr unsigned kFour = 4, kEight = 8, kSixteen = 16;  // bytes at once

Status check_multiple(std::string_view kernel, std::string_view what, std::int64_t value,
                      std::int64_t unit) {
  if (value > 0 && value % unit == 0) return {};
  return fail(ErrorCode::kInternal, "{}: {} is {}, not a multiple of {}", kernel, what, value,
              unit);
}

}  // namespace

Status check_operands(std::string_view kernel, std::initializer_list<Operand> operands) {
  for (const Operand& one : operands) {
    if (one.address == 0 && !one.optional)
      return fail(ErrorCode::kInternal, "{}: {} is not there", kernel, one.name);
    if (one.address % one.alignment != 0)
      return fail(ErrorCode::kInternal, "{}: {} begins {} bytes behind a multiple of {}", kernel,
                  one.name, one.address % one.alignment, one.alignment);
  }
  return {};
}

Status check_operands(const NormInput& in) {
  return check_operands("kw_norm", {{"residual", in.residual, kSixteen},
                                    {"parts", in.parts, kSixteen, in.part_count == 0},
                                    {"bias", in.bias, kSixteen, true},
                                    {"weight", in.weight, kSixteen},
                                    {"tokens", in.tokens, kFour, true},
                                    {"table", in.table, kEight, in.tokens == 0},
                                    {"row_list", in.row_list, kFour, true},
                                    {"out", in.out, kEight}});
}

Status check_operands(MatmulOutput output, const MatmulInput& in) {
  const std::string_view kernel = kernel_name(output);
  KW_TRY_STATUS(check_multiple(kernel, "k", in.k, kMatmulStep));
  KW_TRY_STATUS(check_operands(kernel, {{"squares", in.squares, kEight, true}}));
  switch (output) {
    case MatmulOutput::kParts:
      // The last two columns of a row are stored together, where n is odd with what follows them.
      KW_TRY_STATUS(check_multiple(kernel, "the pitch of y", in.pitch, 2));
      if (in.pitch < in.n)
        return fail(ErrorCode::kInternal, "{}: the pitch of y is {}, less than n, {}", kernel,
                    in.pitch, in.n);
      return check_operands(kernel, {{"y", in.y, kEight}});
    case MatmulOutput::kSilu:
      KW_TRY_STATUS(check_multiple(kernel, "n", in.n, 4));  // the ups begin at half of it
      return check_operands(kernel, {{"y", in.y, kFour}, {"bias", in.bias, kEight, true}});
    case MatmulOutput::kResidual:
      break;
  }
  KW_TRY_STATUS(check_multiple(kernel, "n", in.n, kSquaredColumns));
  return check_operands(kernel, {{"y", in.y, kSixteen},
                                 {"bias", in.bias, kSixteen, true},
                                 {"norm", in.norm, kSixteen},
                                 {"next", in.next, kEight},
                                 {"next_squares", in.next_squares, kFour}});
}

Status check_operands(std::string_view kernel, const HeadInput& in) {
  return check_operands(kernel, {{"qkv", in.qkv, kFour},
                                 {"bias", in.bias, kFour, true},
                                 {"q_norm", in.q_norm, kFour, true},
                                 {"k_norm", in.k_norm, kFour, true},
                                 {"cosine", in.cosine, kFour},
                                 {"sine", in.sine, kFour},
                                 {"positions", in.positions, kFour},
                                 {"slots", in.slots, kFour},
                                 {"kv", in.kv, kSixteen}});
}

Status check_operands(const DecodeInput& in) {
  constexpr std::string_view kKernel = "kw_attention_decode";
  KW_TRY_STATUS(check_operands(kKernel, in.heads));
  return check_operands(kKernel, {{"row_list", in.row_list, kFour, true},
                                  {"partial", in.partial, kSixteen},
                                  {"statistics", in.statistics, kEight},
                                  {"arrived", in.arrived, kFour},
                                  {"out", in.out, kEight}});
}

Status check_operands(const PrefillInput& in) {
  constexpr std::string_view kKernel = "kw_attention_prefill";
  KW_TRY_STATUS(check_operands(kKernel, in.heads));
  return check_operands(kKernel, {{"queries", in.heads.qkv, kSixteen},
                                  {"row_list", in.row_list, kFour},
                                  {"tiles", in.tiles, kEight},
                                  {"out", in.out, kFour}});
}

}  // namespace kw::lm::cuda
