// Landlock rule sets. The kernel's structures are declared here because distributions' headers stop
// at older ABIs.
#include "sandbox/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "os/fd.h"

namespace kw::sandbox {
namespace {

struct RulesetAttributes {
  std::uint64_t access_fs, access_net, scoped;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t access;
  std::int32_t fd;
};
constexpr unsigned kRulePathBeneath = 1;
constexpr unsigned kCreateVersion = 1;

// Access rights to files, bit by bit as in the kernel's documentation (userspace-api/landlock).
constexpr std::uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadFolder = 8;
constexpr std::uint64_t kTruncate = 1U << 14U, kIoctlDevice = 1U << 15U;
constexpr std::uint64_t kAbi1 = (1U << 13U) - 1, kRefer = 1U << 13U;
constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
constexpr std::uint64_t kNet = 3;     // TCP bind and connect, ABI 4
constexpr std::uint64_t kScoped = 3;  // abstract sockets and signals, ABI 6

std::uint64_t handled_rights(int abi) {
  std::uint64_t rights = kAbi1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDevice;
  return rights;
}

StepError allow_fd(int ruleset, int fd, std::uint64_t rights) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return step_failed("fstat");
  PathBeneath rule{S_ISDIR(info.st_mode) ? rights : rights & kFileRights, fd};
  if (::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0) != 0)
    return step_failed("landlock_add_rule");
  return {};
}

StepError allow_path(int ruleset, const std::string& path, std::uint64_t rights) {
  os::UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) return {};
  return allow_fd(ruleset, fd.get(), rights);
}

}  // namespace

int landlock_abi() {
  long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kCreateVersion);
  return version < 0 ? 0 : static_cast<int>(version);
}

StepError enter_landlock(int abi, const LandlockRules& rules) {
  RulesetAttributes attributes{handled_rights(abi), abi >= 4 ? kNet : 0, abi >= 6 ? kScoped : 0};
  std::size_t bytes = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  os::UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, bytes, 0)));
  if (!ruleset.valid()) return step_failed("landlock_create_ruleset");
  for (const std::string& path : rules.readable) {
    if (StepError error = allow_path(ruleset.get(), path, kExecute | kReadFile | kReadFolder))
      return error;
  }
  for (const std::string& path : rules.writable) {
    if (StepError error = allow_path(ruleset.get(), path, handled_rights(abi))) return error;
  }
  if (rules.program >= 0) {
    // A memory file cannot be named in a rule and needs none (EBADFD).
    StepError error = allow_fd(ruleset.get(), rules.program, kExecute | kReadFile);
    if (error && error.error_number != EBADFD) return error;
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return step_failed("landlock_restrict_self");
  return {};
}

}  // namespace kw::sandbox
