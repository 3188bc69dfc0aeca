// ELF sections and CUDA's attributes (.nv.info), read with every offset checked.
#include "gym/compile/cubin.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <elf.h>

#include "base/text.h"
#include "gym/compile/shared_object.h"
#include "text/names.h"

namespace kw::gym {
namespace {

constexpr Elf64_Half kEmCuda = 190;
constexpr unsigned char kEntryFlag = 0x10;  // STO_CUDA_ENTRY in st_other
constexpr std::size_t kMaxCubinKernels = 4096;
// Attributes are four bytes (format, attribute, 16 bits); of kSizedValue, so many bytes follow.
constexpr unsigned char kSizedValue = 4;
constexpr unsigned char kParameterInfo = 0x17, kParameterBytes = 0x19, kRegisterCount = 0x2f;

tl::unexpected<Error> not_a_cubin(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, "the compiler's artefact is not a cubin: {}", what);
}

template <typename T>
std::optional<T> read_as(std::string_view bytes, std::uint64_t offset) {
  T out{};
  if (offset > bytes.size() || sizeof out > bytes.size() - offset) return std::nullopt;
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

struct Section {
  Elf64_Shdr header{};
  std::string_view name, content;
};

// The text that ends at a zero byte; nullopt where there is none.
std::optional<std::string_view> text_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const auto end = table.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return table.substr(offset, end - offset);
}

Result<std::vector<Section>> sections_of(std::string_view bytes) {
  if (bytes.size() > kMaxArtifactBytes) return not_a_cubin("too large");
  const auto header = read_as<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return not_a_cubin("no ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != kEmCuda)
    return not_a_cubin("built for another machine");
  if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum)
    return not_a_cubin("no section headers");
  std::vector<Section> out;
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read_as<Elf64_Shdr>(bytes, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section || header->e_shoff > bytes.size())
      return not_a_cubin("section headers outside the file");
    out.push_back({*section, {}, {}});
    if (section->sh_type == SHT_NOBITS) continue;
    if (section->sh_offset > bytes.size() || section->sh_size > bytes.size() - section->sh_offset)
      return not_a_cubin("a section outside the file");
    out.back().content = bytes.substr(section->sh_offset, section->sh_size);
  }
  const std::string_view names = out[header->e_shstrndx].content;
  for (Section& section : out) {
    const auto name = text_at(names, section.header.sh_name);
    if (!name) return not_a_cubin("a section without a name");
    section.name = *name;
  }
  return out;
}

// Calls use(attribute, payload) for each attribute of a .nv.info section; the payload of one that
// is not sized are the 16 bits of its head.
template <typename Use>
void for_attributes(std::string_view content, Use use) {
  while (const auto head = read_as<std::uint32_t>(content, 0)) {
    const auto attribute = static_cast<unsigned char>(*head >> 8U);
    const std::string_view value = content.substr(2, 2);
    content.remove_prefix(sizeof *head);
    if ((*head & 0xFFU) != kSizedValue) {
      use(attribute, value);
      continue;
    }
    const std::size_t size = *head >> 16U;
    if (size > content.size()) return;
    use(attribute, content.substr(0, size));
    content.remove_prefix(size);
  }
}

// Parameters in their order: an attribute names the ordinal, place and size of one. nullopt: there
// are some, but nothing is said about them.
std::optional<std::vector<CubinParameter>> parameters_of(std::string_view info) {
  std::vector<std::pair<std::uint16_t, CubinParameter>> found;
  bool has_any = false;
  for_attributes(info, [&](unsigned char attribute, std::string_view payload) {
    if (attribute == kParameterBytes)
      has_any = has_any || read_as<std::uint16_t>(payload, 0).value_or(0) > 0;
    if (attribute != kParameterInfo) return;
    const auto ordinal = read_as<std::uint16_t>(payload, 4);
    const auto offset = read_as<std::uint16_t>(payload, 6);
    const auto rest = read_as<std::uint32_t>(payload, 8);
    // The size are the upper 14 bits, behind what a pointer points to.
    if (ordinal && offset && rest) found.push_back({*ordinal, {*offset, *rest >> 18U}});
  });
  if (found.empty() && has_any) return std::nullopt;
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CubinParameter> out;
  for (const auto& [ordinal, parameter] : found) out.push_back(parameter);
  return out;
}

const Section* find_section(const std::vector<Section>& sections, std::string_view name) {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& one) { return one.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

std::int64_t registers_of(const std::vector<Section>& sections, std::uint32_t symbol) {
  const Section* info = find_section(sections, ".nv.info");
  std::int64_t out = 0;
  if (info == nullptr) return out;
  for_attributes(info->content, [&](unsigned char attribute, std::string_view payload) {
    if (attribute == kRegisterCount && read_as<std::uint32_t>(payload, 0) == symbol)
      out = read_as<std::uint32_t>(payload, 4).value_or(0);
  });
  return out;
}

std::int64_t argument_bytes(const task::PlanArgument& argument) {
  if (const auto* scalar = std::get_if<task::PlanScalar>(&argument))
    return static_cast<std::int64_t>(size_of(scalar->dtype));
  return std::holds_alternative<task::PlanTensorMap>(argument) ? 128 : 8;
}

Status check_launch(const task::PlanLaunch& launch, const CubinKernel& kernel) {
  if (!kernel.parameters) return {};
  const std::vector<CubinParameter>& parameters = *kernel.parameters;
  const std::size_t given = launch.arguments.size(), taken = parameters.size();
  if (given != taken)
    return fail(ErrorCode::kInvalidArgument,
                "kernel {} has {} parameters, but its launch gives {} arguments",
                printable(kernel.name, 80), taken, given);
  for (std::size_t i = 0; i < given; ++i) {
    const std::int64_t bytes = argument_bytes(launch.arguments[i]);
    if (bytes != parameters[i].bytes)
      return fail(ErrorCode::kInvalidArgument,
                  "kernel {}: parameter {} has {} bytes, but the launch's argument has {}",
                  printable(kernel.name, 80), i, parameters[i].bytes, bytes);
  }
  return {};
}

}  // namespace

Result<std::vector<CubinKernel>> read_cubin(std::string_view bytes) {
  KW_TRY(std::vector<Section> sections, sections_of(bytes));
  std::vector<CubinKernel> out;
  for (const Section& table : sections) {
    if (table.header.sh_type != SHT_SYMTAB) continue;
    if (table.header.sh_link >= sections.size()) return not_a_cubin("symbols without names");
    const std::string_view names = sections[table.header.sh_link].content;
    for (std::uint32_t i = 0; const auto symbol = read_as<Elf64_Sym>(
                                  table.content, std::uint64_t{i} * sizeof(Elf64_Sym));
         ++i) {
      const bool entry =
          ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && (symbol->st_other & kEntryFlag) != 0;
      if (!entry || symbol->st_shndx == SHN_UNDEF) continue;
      const auto name = text_at(names, symbol->st_name);
      if (!name || name->empty()) return not_a_cubin("a kernel without a name");
      if (out.size() == kMaxCubinKernels) return not_a_cubin("too many kernels");
      CubinKernel& kernel = out.emplace_back();
      kernel.name = std::string(*name);
      if (const Section* info = find_section(sections, ".nv.info." + kernel.name))
        kernel.parameters = parameters_of(info->content);
      kernel.registers = registers_of(sections, i);
      if (const Section* shared = find_section(sections, ".nv.shared." + kernel.name))
        kernel.shared_bytes = static_cast<std::int64_t>(
            std::min<std::uint64_t>(shared->header.sh_size, kMaxArtifactBytes));
    }
  }
  if (out.empty()) return not_a_cubin("no kernel in it");
  return out;
}

Status check_launches(const task::LaunchPlan& plan, std::size_t module,
                      const std::vector<CubinKernel>& kernels) {
  for (const task::PlanStep& step : plan.steps) {
    const auto* launch = std::get_if<task::PlanLaunch>(&step);
    if (launch == nullptr || launch->module != module) continue;
    const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const CubinKernel& one) {
      return one.name == launch->function;
    });
    if (kernel != kernels.end()) {
      KW_TRY_STATUS(check_launch(*launch, *kernel));
      continue;
    }
    std::vector<std::string> names;
    for (const CubinKernel& one : kernels) names.push_back(printable(one.name, 80));
    // A mangled name has the plain one in it.
    const std::string mangled = fmt::format("{}{}", launch->function.size(), launch->function);
    const bool cpp = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.starts_with("_Z") && name.find(mangled) != std::string::npos;
    });
    std::string hint =
        cpp ? "; declare it extern \"C\" __global__" : text::suggestion(launch->function, names);
    names.resize(std::min<std::size_t>(names.size(), 8));
    return fail(ErrorCode::kInvalidArgument, "there is no kernel {} (there is {}){}",
                printable(launch->function, 80), join(names, ", "), hint);
  }
  return {};
}

}  // namespace kw::gym
