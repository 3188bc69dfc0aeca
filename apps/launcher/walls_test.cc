// What hostile programs try: every probe is denied inside, and works outside wherever this user and
// kernel allow it at all.
#include <csignal>

#include <linux/vm_sockets.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/file.h"
#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

class WallsTest : public SandboxTest {
 protected:
  void expect_denied(const std::vector<std::string>& probe) {
    Exit exit = run(probe);
    EXPECT_FALSE(exit.signalled) << probe[0];
    EXPECT_EQ(exit.code, kProbeDenied) << ::testing::PrintToString(probe);
  }
  // The wall is the only thing that stops it.
  void expect_denied_only_inside(const std::vector<std::string>& probe) {
    EXPECT_EQ(run_bare(probe), kProbeWorked)
        << ::testing::PrintToString(probe) << " does not work outside either";
    expect_denied(probe);
  }
  bool namespaces() { return launcher().reached().layers.namespaces; }
  static bool root() { return ::geteuid() == 0; }
};

TEST_F(WallsTest, SystemCallsOfTheDenyList) {
  expect_denied_only_inside({"ptrace_child"});
  expect_denied_only_inside({"process_vm"});
  expect_denied_only_inside({"clone3"});
  expect_denied({"clone_namespace"});
  expect_denied({"set_clock"});
  expect_denied({"mount"});
  expect_denied({"keyring"});
  expect_denied({"io_uring"});
  if (root()) {
    expect_denied_only_inside({"set_clock"});
    expect_denied_only_inside({"clone_namespace"});
  }
  for (long number : {SYS_bpf,
                      SYS_perf_event_open,
                      SYS_userfaultfd,
                      SYS_kcmp,
                      SYS_pidfd_getfd,
                      SYS_open_by_handle_at,
                      SYS_setns,
                      SYS_keyctl,
                      SYS_io_uring_enter,
                      SYS_io_uring_register,
                      SYS_add_key,
                      SYS_request_key,
                      SYS_pivot_root,
                      SYS_chroot,
                      SYS_fsopen,
                      SYS_move_mount,
                      SYS_open_tree,
                      SYS_mount_setattr,
                      SYS_kexec_load,
                      SYS_init_module,
                      SYS_finit_module,
                      SYS_swapon,
                      SYS_acct,
                      SYS_quotactl,
                      SYS_syslog,
                      SYS_adjtimex,
                      SYS_clock_adjtime,
                      SYS_settimeofday,
                      SYS_personality}) {
    expect_denied({"syscall", std::to_string(number)});
  }
}

TEST_F(WallsTest, NewNamespaces) {
  for (int flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
                   CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    expect_denied({"unshare", std::to_string(flag)});
    if (root()) {
      EXPECT_EQ(run_bare({"unshare", std::to_string(flag)}), kProbeWorked);
    }
  }
}

TEST_F(WallsTest, SocketsBeyondLocalOnes) {
  for (int family : {AF_INET, AF_INET6, AF_NETLINK, AF_VSOCK, AF_PACKET, AF_ALG}) {
    expect_denied({"socket", std::to_string(family),
                   std::to_string(family == AF_VSOCK ? SOCK_STREAM : SOCK_DGRAM)});
  }
  EXPECT_EQ(run_bare({"socket", std::to_string(AF_INET), std::to_string(SOCK_DGRAM)}),
            kProbeWorked);
  EXPECT_EQ(run({"socket", std::to_string(AF_UNIX), std::to_string(SOCK_STREAM)}).code,
            kProbeWorked);
}

TEST_F(WallsTest, AbstractSocketsOfTheHost) {
  std::string name = "kw-probe-" + std::to_string(::getpid());
  os::UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(server.get(), 4), 0);
  EXPECT_EQ(run_bare({"abstract", name}), kProbeWorked);
  // Without a net namespace Landlock's scope (ABI 6) is the wall.
  if (namespaces() || launcher().reached().layers.landlock_abi >= 6)
    expect_denied({"abstract", name});
}

TEST_F(WallsTest, OtherProcesses) {
  std::string self = std::to_string(::getpid());
  EXPECT_EQ(run_bare({"signal", self}), kProbeWorked);
  if (namespaces() || launcher().reached().layers.landlock_abi >= 6)
    expect_denied({"signal", self});
  expect_denied({"ptrace", self});
  if (!namespaces()) return;
  expect_denied_only_inside({"see_process", self});
  expect_denied({"see_init"});
  expect_denied({"kill_init"});
  expect_denied({"ptrace", "1"});
}

TEST_F(WallsTest, TheInitIsOutOfReachFromTheHostsUidToo) {
  auto sandbox = start({"sleep"});
  ASSERT_TRUE(sandbox);
  // A plain user's init has the candidate's uid: only its dumpable flag keeps its memory closed.
  if (!root()) {
    EXPECT_EQ(run_bare({"see_process", std::to_string((*sandbox)->pid())}), kProbeDenied);
  }
  // The candidate has no such flag, so the same look at it shows that the probe works.
  EXPECT_EQ(run_bare({"see_process", std::to_string((*sandbox)->candidate_pid())}), kProbeWorked);
}

TEST_F(WallsTest, FilesOutside) {
  auto folder = os::TempDir::make("kw-sandbox-secret-");
  ASSERT_TRUE(folder);
  ::chmod(folder->path().c_str(), 0777);
  std::string secret = (folder->path() / "secret").string();
  ASSERT_TRUE(os::write_file_atomic(secret, "the planted secret"));
  ::chmod(secret.c_str(), 0644);
  expect_denied_only_inside({"read", secret});
  expect_denied_only_inside({"write", folder->path().string()});
  expect_denied({"read", "/etc/shadow"});
  expect_denied({"read", "/etc/hostname"});
  for (const char* place : {"/", "/usr", "/usr/local", "/etc", "/dev", "/proc", "/sys"})
    expect_denied({"write", place});
  EXPECT_EQ(run({"write", "."}).code, kProbeWorked);
  if (!namespaces()) return;
  for (const char* place : {"/work", "/tmp", "/dev/shm"})
    EXPECT_EQ(run({"write", place}).code, kProbeWorked) << place;
}

TEST_F(WallsTest, IdentityAndPrivileges) {
  EXPECT_EQ(run({"identity", launcher().reached().layers.own_uid ? "own" : "any"}).code,
            kProbeWorked);
}

TEST_F(WallsTest, AffinityOnlyWhereAllowed) {
  EXPECT_EQ(run({"affinity"}).code, kProbeWorked);
  EXPECT_EQ(run({"affinity"}, [](Spec& spec) { spec.may_set_affinity = false; }).code,
            kProbeDenied);
}

TEST_F(WallsTest, LocksAreGrantedButLeasesAreNot) {
  EXPECT_EQ(run({"locks"}).code, kProbeWorked);
}

TEST_F(WallsTest, WorkFolderIsBounded) {
  if (!namespaces()) return;
  int megabytes = run({"fill"}, [](Spec& spec) { spec.limits.work_bytes = 16U << 20U; }).code;
  EXPECT_GE(megabytes, 14);
  EXPECT_LE(megabytes, 16);
}

TEST_F(WallsTest, FileSizeIsBounded) {
  Exit exit = run({"fill"}, [](Spec& spec) { spec.limits.file_bytes = 8U << 20U; });
  EXPECT_TRUE(exit.signalled);
  EXPECT_EQ(exit.code, SIGXFSZ);
}

TEST_F(WallsTest, MemoryIsBounded) {
  Exit exit = run({"memory"}, [](Spec& spec) { spec.limits.memory_bytes = 64U << 20U; });
  if (launcher().reached().memory_group) {
    EXPECT_TRUE(exit.signalled);
    EXPECT_EQ(exit.code, SIGKILL);
    EXPECT_TRUE(exit.out_of_memory);
  } else {
    EXPECT_EQ(exit.code, kProbeDenied);  // RLIMIT_DATA: the allocation fails
  }
  expect_nothing_left();
}

TEST_F(WallsTest, MemoryLimitOfARunningSandboxChanges) {
  auto sandbox = start({"sleep"});
  ASSERT_TRUE(sandbox);
  if (!launcher().reached().memory_group) {
    EXPECT_FALSE((*sandbox)->set_memory_limit(32U << 20U));
    return;
  }
  for (std::uint64_t bytes : {32ULL << 20U, 8ULL << 30U, 64ULL << 20U}) {
    auto changed = (*sandbox)->set_memory_limit(bytes);
    EXPECT_TRUE(changed) << changed.error().message();
  }
  // A group of another sandbox with the first limit, raised before it starts to eat, is not killed
  // below the new one.
}

TEST_F(WallsTest, CpuTimeIsBounded) {
  Exit exit = run({"spin", "20"}, [](Spec& spec) { spec.limits.cpu_time = seconds(1); });
  EXPECT_TRUE(exit.signalled);
  EXPECT_TRUE(exit.code == SIGKILL || exit.code == SIGXCPU) << exit.code;
  EXPECT_FALSE(exit.out_of_memory);
}

class WithoutNamespacesTest : public WallsTest {
 protected:
  void SetUp() override { tuning_.at_most = Level::kBasic; }
};

TEST_F(WithoutNamespacesTest, LandlockAndFilterStillHold) {
  ASSERT_EQ(launcher().level(), Level::kBasic);
  auto folder = os::TempDir::make("kw-sandbox-secret-");
  ASSERT_TRUE(folder);
  ::chmod(folder->path().c_str(), 0777);
  std::string secret = (folder->path() / "secret").string();
  ASSERT_TRUE(os::write_file_atomic(secret, "the planted secret"));
  ::chmod(secret.c_str(), 0644);
  expect_denied_only_inside({"read", secret});
  expect_denied_only_inside({"write", folder->path().string()});
  expect_denied_only_inside({"ptrace_child"});
  expect_denied_only_inside({"signal", std::to_string(::getpid())});
  EXPECT_EQ(run({"write", "."}).code, kProbeWorked);
  expect_nothing_left();
}

}  // namespace
}  // namespace kw::sandbox
