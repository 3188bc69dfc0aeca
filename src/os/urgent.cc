#include "os/urgent.h"

#include <array>
#include <cerrno>
#include <cstdint>

#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kw::os {
namespace {

constexpr int kMinPriority = 1;

// The kernel lets nobody unprivileged take the flag back, so it stays.
bool set_policy(int policy, int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return ::sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &parameters) == 0;
}

bool is_ordinary(int policy) {
  return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

}  // namespace

Status drop_capabilities(bool urgent) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0)
    return fail_errno(errno, "cannot read the capabilities");
  constexpr std::uint32_t kUrgent = 1U << CAP_SYS_NICE;
  static_assert(CAP_SYS_NICE < 32);
  const std::uint32_t kept = urgent ? sets[0].permitted & kUrgent : 0;
  sets = {};
  sets[0].permitted = sets[0].effective = kept;
  if (::syscall(SYS_capset, &header, sets.data()) != 0)
    return fail_errno(errno, "cannot drop the capabilities");
  return {};
}

UrgentScope::UrgentScope()
    : before_(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK),
      is_urgent_(is_ordinary(before_) && set_policy(SCHED_FIFO, kMinPriority)) {}

UrgentScope::~UrgentScope() {
  if (is_urgent_) set_policy(before_, 0);
}

}  // namespace kw::os
