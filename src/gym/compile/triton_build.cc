// The compiler role's table, read with every field checked.
#include "gym/compile/triton_build.h"

#include <algorithm>
#include <cstring>

#include <elf.h>

#include "base/hash.h"
#include "base/text.h"

namespace kw::gym {
namespace {

constexpr Elf64_Half kCudaMachine = 190;  // EM_CUDA
constexpr std::uint32_t kMaxWarps = 64;
constexpr std::uint32_t kMaxCtas = 64;
constexpr std::uint32_t kMaxStages = 1024;

tl::unexpected<Error> bad_table(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, "the Triton compiler's table is damaged: {}", what);
}

// The text of a field up to its first zero byte, which must be there.
template <std::size_t N>
Result<std::string> text_of(const char (&field)[N], std::string_view allowed) {
  const char* end = std::find(field, field + N, '\0');
  std::string text(field, end);
  if (end == field + N || text.empty() || text.find_first_not_of(allowed) != std::string::npos)
    return bad_table("a name is no name");
  return text;
}

Status check_cubin(std::string_view binary) {
  Elf64_Ehdr header{};
  if (binary.size() < sizeof header) return bad_table("a binary is too short");
  std::memcpy(&header, binary.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != kCudaMachine)
    return bad_table("a binary is not for a CUDA device");
  return {};
}

Result<TritonKernel> read_entry(const TritonEntry& entry, std::string_view artifact) {
  TritonKernel kernel;
  kernel.identity = hex(entry.identity);
  KW_TRY(kernel.name,
         text_of(entry.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_?"));
  if (entry.num_warps == 0 || entry.num_warps > kMaxWarps || entry.num_ctas == 0 ||
      entry.num_ctas > kMaxCtas || entry.num_stages > kMaxStages)
    return bad_table("launch options out of range");
  kernel.num_warps = entry.num_warps;
  kernel.num_stages = entry.num_stages;
  kernel.num_ctas = entry.num_ctas;
  kernel.shared_bytes = entry.shared_bytes;
  if (entry.cubin_offset > artifact.size() ||
      entry.cubin_bytes > artifact.size() - entry.cubin_offset)
    return bad_table("a binary lies outside");
  kernel.cubin_offset = entry.cubin_offset;
  kernel.cubin_bytes = entry.cubin_bytes;
  KW_TRY_STATUS(check_cubin(artifact.substr(entry.cubin_offset, entry.cubin_bytes)));
  return kernel;
}

}  // namespace

Result<TritonBuild> read_triton_build(std::string_view artifact) {
  TritonTable table{};
  if (artifact.size() < sizeof table) return bad_table("too short");
  std::memcpy(&table, artifact.data(), sizeof table);
  if (table.magic != TritonTable::kMagic) return bad_table("no magic number");
  if (table.kernels > kMaxTritonKernels ||
      artifact.size() < sizeof table + table.kernels * sizeof(TritonEntry))
    return bad_table("more kernels than there is room for");
  TritonBuild build;
  build.arch = table.arch;
  KW_TRY(build.triton_version,
         text_of(table.triton_version, "0123456789.abcdefghijklmnopqrstuvwxyz+-"));
  for (std::uint32_t i = 0; i < table.kernels; ++i) {
    TritonEntry entry{};
    std::memcpy(&entry, artifact.data() + sizeof table + i * sizeof entry, sizeof entry);
    KW_TRY(TritonKernel kernel, read_entry(entry, artifact));
    build.kernels.push_back(std::move(kernel));
  }
  return build;
}

}  // namespace kw::gym
