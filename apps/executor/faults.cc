// The signal handler touches nothing but memory that was set up before: no locks, no allocation.
#include "faults.h"

#include <array>
#include <csignal>
#include <cstdint>

namespace kw::executor {
namespace {

constexpr std::size_t kStackBytes = 64ULL << 10U;
constexpr std::size_t kMaxRanges = gym::kMaxSets + 1;

struct Range {
  std::uintptr_t begin, end;
};

// A signal handler reaches only globals.
volatile gym::ReplyPage* g_reply = nullptr;
std::array<Range, kMaxRanges> g_read_only{};
std::size_t g_ranges = 0;
std::array<std::byte, kStackBytes> g_stack{};

void on_fault(int signal, siginfo_t* info, void*) {
  auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  std::uint32_t on_input = 0;
  for (std::size_t i = 0; i < g_ranges; ++i) {
    if (address >= g_read_only[i].begin && address < g_read_only[i].end) on_input = 1;
  }
  g_reply->fault_address = address;
  g_reply->fault_on_input = on_input;
  g_reply->fault_signal = static_cast<std::uint32_t>(signal);
  // SA_RESETHAND restored the default action: the instruction faults again and ends the process.
}

}  // namespace

void report_faults(volatile gym::ReplyPage& reply,
                   const std::vector<std::span<std::byte>>& read_only) {
  g_reply = &reply;
  for (std::span<std::byte> range : read_only) {
    auto begin = reinterpret_cast<std::uintptr_t>(range.data());
    if (!range.empty() && g_ranges < kMaxRanges) {
      g_read_only[g_ranges++] = {begin, begin + range.size()};
    }
  }
  stack_t stack{};
  stack.ss_sp = g_stack.data();
  stack.ss_size = g_stack.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace kw::executor
