// ELF headers, read with every offset checked.
#include "gym/compile/shared_object.h"

#include <cstdint>
#include <cstring>

#include <elf.h>

namespace kw::gym {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the CPU gym knows x86-64 and AArch64"
#endif

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, "the compiler's artefact is not a shared object: {}",
              what);
}

// Whether [offset, offset + bytes) lies in a file of `size` bytes.
bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

}  // namespace

Status check_shared_object(std::string_view bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() > kMaxArtifactBytes) return damaged("too large");
  if (bytes.size() < sizeof header) return damaged("too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return damaged("no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT || header.e_machine != kMachine) {
    return damaged("built for another machine");
  }
  if (header.e_type != ET_DYN) return damaged("another type of ELF file");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      !inside(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), bytes.size())) {
    return damaged("program headers outside the file");
  }
  if (header.e_shnum != 0 &&
      (header.e_shentsize != sizeof(Elf64_Shdr) ||
       !inside(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), bytes.size()))) {
    return damaged("section headers outside the file");
  }
  bool dynamic = false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_INTERP) return damaged("a program");
    dynamic = dynamic || segment.p_type == PT_DYNAMIC;
    bool in_file = segment.p_type == PT_LOAD || segment.p_type == PT_DYNAMIC;
    if (in_file && !inside(segment.p_offset, segment.p_filesz, bytes.size())) {
      return damaged("a segment outside the file");
    }
  }
  if (!dynamic) return damaged("no dynamic section");
  return {};
}

}  // namespace kw::gym
