// The Triton compiler role's table: what is read, and every way in which it may lie.
#include "gym/compile/triton_build.h"

#include <cstring>
#include <functional>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using testing::HasSubstr;

constexpr std::size_t kFirstEntry = sizeof(TritonTable);
constexpr std::size_t kCubin = kFirstEntry + sizeof(TritonEntry);

template <typename T>
void put(std::string& bytes, std::size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// One kernel called "add" with the smallest ELF header of a cubin.
std::string good_build() {
  TritonTable table{TritonTable::kMagic, 1, 90, "3.7.1", {}};
  TritonEntry entry{};
  entry.identity[0] = 0xab;
  std::strcpy(entry.name, "add");
  entry.num_warps = 4, entry.num_stages = 3, entry.num_ctas = 1, entry.shared_bytes = 1024;
  entry.cubin_offset = kCubin, entry.cubin_bytes = sizeof(Elf64_Ehdr);
  Elf64_Ehdr cubin{};
  std::memcpy(cubin.e_ident, ELFMAG, SELFMAG);
  cubin.e_ident[EI_CLASS] = ELFCLASS64;
  cubin.e_machine = 190;
  std::string bytes(kCubin + sizeof cubin, '\0');
  put(bytes, 0, table);
  put(bytes, kFirstEntry, entry);
  put(bytes, kCubin, cubin);
  return bytes;
}

TEST(TritonBuild, ReadsAKernel) {
  auto build = read_triton_build(good_build());
  ASSERT_TRUE(build) << build.error().message();
  EXPECT_EQ(build->triton_version, "3.7.1");
  EXPECT_EQ(build->arch, 90U);
  ASSERT_EQ(build->kernels.size(), 1U);
  const TritonKernel& kernel = build->kernels[0];
  EXPECT_EQ(kernel.name, "add");
  EXPECT_THAT(kernel.identity, testing::StartsWith("ab00"));
  EXPECT_EQ(kernel.identity.size(), 64U);
  EXPECT_EQ(kernel.num_warps, 4U);
  EXPECT_EQ(kernel.shared_bytes, 1024U);
}

TEST(TritonBuild, NoKernelIsABuildToo) {
  std::string bytes = good_build();
  put(bytes, offsetof(TritonTable, kernels), std::uint32_t{0});
  EXPECT_TRUE(read_triton_build(bytes));
}

TEST(TritonBuild, RefusesWhatDoesNotFit) {
  struct Lie {
    std::string what;
    std::function<void(std::string&)> tell;
  };
  auto in_entry = [](std::size_t field, auto value) {
    return [=](std::string& bytes) { put(bytes, kFirstEntry + field, value); };
  };
  const std::vector<Lie> lies = {
      {"too short", [](std::string& b) { b.resize(63); }},
      {"no magic number", [](std::string& b) { b[0] = 'X'; }},
      {"more kernels", [](std::string& b) { put(b, offsetof(TritonTable, kernels), 2U); }},
      {"more kernels", [](std::string& b) { put(b, offsetof(TritonTable, kernels), 1U << 31U); }},
      {"a name is no name", [](std::string& b) { std::memset(b.data() + 16, 'x', 16); }},
      {"a name is no name", in_entry(offsetof(TritonEntry, name), '\0')},
      {"a name is no name", in_entry(offsetof(TritonEntry, name), '\x1b')},
      {"out of range", in_entry(offsetof(TritonEntry, num_warps), 0U)},
      {"out of range", in_entry(offsetof(TritonEntry, num_ctas), 1U << 20U)},
      {"lies outside", in_entry(offsetof(TritonEntry, cubin_bytes), std::uint64_t{1} << 40U)},
      {"lies outside", in_entry(offsetof(TritonEntry, cubin_offset), ~std::uint64_t{0})},
      {"too short", in_entry(offsetof(TritonEntry, cubin_bytes), std::uint64_t{8})},
      {"not for a CUDA device", [](std::string& b) { b[kCubin] = 0; }},
      {"not for a CUDA device",
       [](std::string& b) {
         put(b, kCubin + offsetof(Elf64_Ehdr, e_machine), Elf64_Half{EM_X86_64});
       }},
  };
  for (const Lie& lie : lies) {
    std::string bytes = good_build();
    lie.tell(bytes);
    auto build = read_triton_build(bytes);
    ASSERT_FALSE(build) << lie.what;
    EXPECT_THAT(build.error().message(), HasSubstr(lie.what));
  }
}

}  // namespace
}  // namespace kw::gym
