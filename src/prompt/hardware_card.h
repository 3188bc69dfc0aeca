// Facts of the machine that a kernel will be timed on, for prompts.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kw::prompt {

// What is not known stays at its default and is not mentioned.
struct HardwareCard {
  std::string name;  // "AMD EPYC 7B13", "NVIDIA H200"
  // CPU: cores that the kernel may use; caches of one core, and the last level shared by all.
  int cores = 0;
  std::vector<std::string> instruction_sets = {};  // "avx2", "fma", ...
  std::int64_t l1_data_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  // GPU
  std::string compute_capability = {};  // "9.0"
  int multiprocessors = 0;
  std::int64_t shared_memory_bytes = 0;  // of one block at most
  std::int64_t registers = 0;            // of one multiprocessor, 32 bits each
  // Both
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  std::vector<std::pair<std::string, double>> peak_flops = {};     // by dtype: {"bfloat16", 9.9e14}
  std::vector<std::pair<std::string, std::string>> software = {};  // {"GCC", "12.2"}
};

// A list of lines, each "- fact: value"; empty for an empty card.
std::string hardware_section(const HardwareCard& card);

}  // namespace kw::prompt
