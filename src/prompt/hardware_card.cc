// One line a fact, in the struct's order.
#include "prompt/hardware_card.h"

#include <fmt/format.h>

#include "base/text.h"

namespace kw::prompt {
namespace {

class FactLines {
 public:
  void text(std::string_view fact, std::string_view value) {
    if (!value.empty()) out_ += fmt::format("- {}: {}\n", fact, printable(value, 300));
  }
  void number(std::string_view fact, std::int64_t value) {
    if (value > 0) out_ += fmt::format("- {}: {}\n", fact, value);
  }
  void bytes(std::string_view fact, std::int64_t value) {
    if (value > 0) text(fact, format_bytes(static_cast<std::uint64_t>(value)));
  }
  void rate(std::string_view fact, double value, double unit, std::string_view name) {
    if (value > 0) out_ += fmt::format("- {}: {:.4g} {}\n", fact, value / unit, name);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace

std::string hardware_section(const HardwareCard& card) {
  FactLines lines;
  lines.text("processor", card.name);
  lines.number("cores that the kernel may use", card.cores);
  lines.text("instruction sets", join(card.instruction_sets, ", "));
  lines.bytes("L1 data cache of a core", card.l1_data_bytes);
  lines.text("compute capability", card.compute_capability);
  lines.number("multiprocessors", card.multiprocessors);
  lines.bytes("shared memory of a block, at most", card.shared_memory_bytes);
  lines.number("32-bit registers of a multiprocessor", card.registers);
  lines.bytes(card.multiprocessors > 0 ? "L2 cache" : "L2 cache of a core", card.l2_bytes);
  lines.bytes("L3 cache, shared", card.l3_bytes);
  lines.bytes("memory", card.memory_bytes);
  lines.rate("memory bandwidth", card.memory_bytes_per_s, 1e9, "GB/s");
  for (const auto& [dtype, flops] : card.peak_flops)
    lines.rate("peak rate in " + printable(dtype, 40), flops, 1e12, "TFLOP/s");
  for (const auto& [program, version] : card.software) lines.text(printable(program, 40), version);
  return lines.take();
}

}  // namespace kw::prompt
