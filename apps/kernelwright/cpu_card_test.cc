// The lines of prompts about a CPU.
#include "kernelwright/cpu_card.h"

#include <gtest/gtest.h>

namespace kw::front {
namespace {

TEST(CpuCard, NameAndInstructionSets) {
  prompt::HardwareCard card = card_of_cpuinfo(
      "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu fma avx avx2 "
      "hypervisor\n\nprocessor\t: 1\nmodel name\t: Other\n");
  EXPECT_EQ(card.name, "Some CPU @ 2.0GHz");
  EXPECT_EQ(card.instruction_sets, (std::vector<std::string>{"avx", "fma", "avx2"}));
  EXPECT_EQ(card_of_cpuinfo("").name, "");
}

TEST(CpuCard, OfThisMachine) {
  prompt::HardwareCard card = this_cpu(3);
  EXPECT_EQ(card.cores, 3);
  EXPECT_GT(card.memory_bytes, 0);
}

}  // namespace
}  // namespace kw::front
