// Records a crash in the reply page, so that the checker can tell a write to an input from a bug.
#include <csignal>
#include <cstdint>
#include <cstring>

#include "arena.h"
#include "gym/protocol.h"

namespace kw::arena {
namespace {

constexpr std::size_t kMaxRanges = 128;
constexpr int kSignals[] = {SIGSEGV, SIGBUS};

gym::ReplyPage* g_reply = nullptr;
KwRange g_ranges[kMaxRanges];
std::size_t g_range_count = 0;
struct sigaction g_previous[2];
alignas(16) char g_stack[64 * 1024];  // a stack overflow is a SIGSEGV too

bool on_input(std::uintptr_t address) {
  for (std::size_t i = 0; i < g_range_count; ++i) {
    if (address - reinterpret_cast<std::uintptr_t>(g_ranges[i].begin) < g_ranges[i].bytes) {
      return true;
    }
  }
  return false;
}

void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  // A signal that was sent (kill, raise) has no address.
  auto address = info->si_code > 0 ? reinterpret_cast<std::uintptr_t>(info->si_addr) : 0;
  g_reply->fault_address = address;
  g_reply->fault_on_input = on_input(address) ? 1 : 0;
  g_reply->fault_signal = static_cast<std::uint32_t>(signal);
  // Returning runs the faulting instruction again, under the action that was installed before ours.
  ::sigaction(signal, &g_previous[signal == SIGBUS ? 1 : 0], nullptr);
  if (info->si_code <= 0) ::raise(signal);
}

}  // namespace
}  // namespace kw::arena

void kw_arena_watch(void* reply_page, const KwRange* ranges, std::size_t count) {
  using kw::arena::g_previous, kw::arena::g_range_count, kw::arena::g_ranges, kw::arena::g_reply;
  using kw::arena::g_stack, kw::arena::kMaxRanges, kw::arena::kSignals, kw::arena::on_fault;
  g_reply = static_cast<kw::gym::ReplyPage*>(reply_page);
  g_range_count = count < kMaxRanges ? count : kMaxRanges;
  std::memcpy(g_ranges, ranges, g_range_count * sizeof(KwRange));
  stack_t stack{};
  stack.ss_sp = g_stack;
  stack.ss_size = sizeof g_stack;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int i = 0; i < 2; ++i) ::sigaction(kSignals[i], &action, &g_previous[i]);
}
