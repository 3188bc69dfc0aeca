// The parts of the sandbox that need no sandbox: uid leases, logs, the spawn protocol, the compiled
// filter.
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/message.h"
#include "sandbox/host_process.h"
#include "sandbox/log_reader.h"
#include "sandbox/seccomp_filter.h"
#include "sandbox/spawn.h"
#include "sandbox/uid_pool.h"

namespace kw::sandbox {
namespace {

TEST(UidPool, TwoSupervisorsNeverShareAUid) {
  auto folder = os::TempDir::make("kw-uids-").value();
  std::string file = (folder.path() / "sub" / "uids").string();
  auto first = UidPool::open(file).value();
  auto second = UidPool::open(file).value();
  std::set<std::uint32_t> seen;
  std::vector<UidLease> leases;
  for (int i = 0; i < 300; ++i) {
    for (UidPool* pool : {first.get(), second.get()}) {
      leases.push_back(pool->lease().value());
      EXPECT_TRUE(seen.insert(leases.back().uid()).second) << leases.back().uid();
      EXPECT_GE(leases.back().uid(), 61000U);
      EXPECT_LT(leases.back().uid(), 62000U);
    }
  }
  EXPECT_EQ(first->leased(), 300U);
}

TEST(UidPool, GivesBackOnlyWhatIsGivenBack) {
  auto folder = os::TempDir::make("kw-uids-").value();
  auto pool = UidPool::open((folder.path() / "uids").string()).value();
  std::set<std::uint32_t> all;
  while (auto lease = pool->lease()) all.insert(lease->uid());  // destroyed: retired
  EXPECT_GT(all.size(), 900U);
  EXPECT_EQ(pool->lease().error().code(), ErrorCode::kResourceExhausted);

  auto other = UidPool::open((folder.path() / "other").string()).value();
  for (int i = 0; i < 3000; ++i) other->lease().value().give_back();
  EXPECT_EQ(other->leased(), 0U);
}

TEST(UidPool, UidsOfRunningProcessesAreNotLeased) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can run a process as another uid; root's run of this test covers it";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(61500, 61500, 61500) != 0) ::_exit(1);
    (void)!::write(ends[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  auto folder = os::TempDir::make("kw-uids-").value();
  auto pool = UidPool::open((folder.path() / "uids").string()).value();
  while (auto lease = pool->lease()) EXPECT_NE(lease->uid(), 61500U);
  ::kill(child, SIGKILL);
}

TEST(LogReader, KeepsHeadAndTailAndCounts) {
  LogReader reader;
  auto pipe = os::make_pipe().value();
  auto log = reader.add(std::move(pipe.read_end));
  std::string text = "first line\n" + std::string(300'000, '.') + "\nlast line\n";
  ASSERT_TRUE(os::write_all(pipe.write_end.get(), text));
  std::string kept = log->text();
  EXPECT_TRUE(kept.starts_with("first line\n..."));
  EXPECT_TRUE(kept.ends_with("...\nlast line\n"));
  EXPECT_THAT(kept, ::testing::HasSubstr("left out"));
  EXPECT_LT(kept.size(), 2 * Log::kPart + 100);
  EXPECT_EQ(log->bytes(), text.size());
  EXPECT_FALSE(log->over_limit());
}

TEST(LogReader, ShortTextsAreWhole) {
  LogReader reader;
  auto pipe = os::make_pipe().value();
  auto log = reader.add(std::move(pipe.read_end));
  std::string text(Log::kPart + 100, 'a');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  ASSERT_TRUE(os::write_all(pipe.write_end.get(), text));
  pipe.write_end.reset();
  EXPECT_EQ(log->text(), text);
}

TEST(LogReader, FloodsAreDrainedAndFlaggedOnce) {
  LogReader reader;
  auto pipe = os::make_pipe().value();
  std::atomic<int> calls = 0;
  auto log = reader.add(std::move(pipe.read_end), [&] { ++calls; });
  std::string block(1U << 20U, 'x');
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(os::write_all(pipe.write_end.get(), block));  // blocks for ever if nobody reads
  EXPECT_TRUE(log->over_limit());
  EXPECT_EQ(calls, 1);
}

TEST(LogReader, TextIsHarmless) {
  LogReader reader;
  auto pipe = os::make_pipe().value();
  auto log = reader.add(std::move(pipe.read_end));
  ASSERT_TRUE(os::write_all(pipe.write_end.get(), std::string_view("\x1b[31mred\0\xff\n", 11)));
  std::string text = log->text();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\0'), std::string::npos);
  EXPECT_THAT(text, ::testing::HasSubstr("red"));
}

TEST(LogReader, ManyLogsComeAndGo) {
  LogReader reader;
  for (int i = 0; i < 200; ++i) {
    auto pipe = os::make_pipe().value();
    auto log = reader.add(std::move(pipe.read_end));
    ASSERT_TRUE(os::write_all(pipe.write_end.get(), std::to_string(i)));
    if (i % 2 == 0) pipe.write_end.reset();
    EXPECT_EQ(log->text(), std::to_string(i));
  }
}

TEST(Spawn, RequestsSurviveTheirJson) {
  SpawnRequest request;
  request.role = "executor";
  request.argv = {"program", "an argument"};
  request.environment = {{"NAME", "value=with equals"}};
  request.binds = {{"/a", "/b", true}, {"/dev/null", "/dev/null", false, true}};
  request.limits.memory_bytes = 123;
  request.limits.cpu_time = std::chrono::seconds(9);
  request.cpus = {0, 2};
  request.may_set_affinity = false;
  request.uid = 61007;
  request.work_folder = "/tmp/w";
  request.log.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto sockets = os::make_message_socket_pair().value();
  ASSERT_TRUE(os::send_message(sockets.first.get(), to_json(request), descriptors(request)));
  auto read = parse_spawn_request(
      os::receive_message(sockets.second.get(), std::chrono::milliseconds(1000)).value());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), to_json(request));
  EXPECT_TRUE(read->log.valid());
  EXPECT_FALSE(read->control.valid() || read->program.valid());
}

os::UniqueFd null_device() {
  return os::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

Result<std::unique_ptr<HostProcess>> start_shell_host(const std::string& script) {
  HostConfig config;
  config.filter = null_device();
  config.filter_no_affinity = null_device();
  return HostProcess::start({{"/bin/sh", "-c", script}, {}, std::chrono::seconds(10)}, config);
}

TEST(HostProcess, AnEarlyEndIsToldWithTheProgramAndItsLastWords) {
  auto host = start_shell_host("echo no room left >&2");
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(host.error().message(), ::testing::HasSubstr("/bin/sh (no room left): "));
}

TEST(HostProcess, ALaterEndIsToldSoToo) {
  // What it has not read when it ends would take its answer along.
  auto host = start_shell_host(
      R"(dd count=1 <&3 >/dev/null 2>&1; echo '{"ready": true}' >&3; echo no room left >&2)");
  ASSERT_TRUE(host) << host.error().message();
  InitRequest request;
  request.status = null_device();
  request.command = null_device();
  auto spawned = (*host)->spawn(request);
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(spawned.error().message(), ::testing::HasSubstr("/bin/sh (no room left): "));
}

TEST(Spawn, InitRequestsSurviveTheirJson) {
  InitRequest request;
  request.group_names = {"memory"};
  for (os::UniqueFd* fd : {&request.status, &request.command})
    fd->reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  request.procs.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto sockets = os::make_message_socket_pair().value();
  ASSERT_TRUE(os::send_message(sockets.first.get(), to_json(request), descriptors(request)));
  auto read = parse_init_request(
      os::receive_message(sockets.second.get(), std::chrono::milliseconds(1000)).value());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), to_json(request));
  EXPECT_TRUE(read->status.valid() && read->command.valid());
  EXPECT_EQ(read->procs.size(), 1U);
  EXPECT_FALSE(parse_init_request({to_json(request), {}}));  // no descriptors
}

TEST(Spawn, IncompleteRequestsAreRefused) {
  SpawnRequest request;
  Json body = to_json(request);
  body.erase("limits");
  auto missing = parse_spawn_request({body, {}});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), ::testing::HasSubstr("limits"));
}

// Runs the classic BPF that the kernel would run; only what libseccomp emits.
std::uint32_t verdict(const os::UniqueFd& filter, std::uint32_t architecture, int number,
                      std::array<std::uint64_t, 6> arguments) {
  struct stat info{};
  ::fstat(filter.get(), &info);
  std::vector<sock_filter> program(static_cast<std::size_t>(info.st_size) / sizeof(sock_filter));
  EXPECT_EQ(::pread(filter.get(), program.data(), static_cast<std::size_t>(info.st_size), 0),
            info.st_size);
  seccomp_data data{number, architecture, 0, {}};
  for (std::size_t i = 0; i < 6; ++i) data.args[i] = arguments[i];
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    bool jump = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, 4);
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JA:
        at += step.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump = accumulator == step.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        jump = accumulator > step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump = accumulator >= step.k;
        break;
      default:
        ADD_FAILURE() << "instruction " << step.code;
        return 0;
    }
    at += jump ? step.jt : step.jf;
  }
  ADD_FAILURE() << "the filter has no end";
  return 0;
}

#if defined(__x86_64__)
constexpr std::uint32_t kNative = 0xC000003E,
                        kForeign = 0x40000003;  // AUDIT_ARCH_X86_64, AUDIT_ARCH_I386
#else
constexpr std::uint32_t kNative = 0xC00000B7,
                        kForeign = 0x40000028;  // AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM
#endif
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW, kRefuse = SECCOMP_RET_ERRNO | EPERM;

TEST(Filter, RefusesByNumberAndArgument) {
  auto filter = compile_filter({}).value();
  auto of = [&](int number, std::uint64_t a = 0, std::uint64_t b = 0) {
    return verdict(filter, kNative, number, {a, b, 0, 0, 0, 0});
  };
  EXPECT_EQ(of(SYS_read), kAllow);
  EXPECT_EQ(of(SYS_execve), kAllow);
  EXPECT_EQ(of(SYS_ptrace), kRefuse);
  EXPECT_EQ(of(SYS_clone3), SECCOMP_RET_ERRNO | ENOSYS);
  EXPECT_EQ(of(SYS_clone, CLONE_VM | CLONE_THREAD), kAllow);
  EXPECT_EQ(of(SYS_clone, CLONE_VM | CLONE_NEWNET), kRefuse);
  EXPECT_EQ(of(SYS_clone, CLONE_VM | SIGCHLD), kAllow);
  EXPECT_EQ(of(SYS_clone, CLONE_VM | SIGCONT), kRefuse);
  EXPECT_EQ(of(SYS_timer_create), kRefuse);
  EXPECT_EQ(of(SYS_inotify_init1, 0), kRefuse);
#ifdef SYS_inotify_init
  EXPECT_EQ(of(SYS_inotify_init), kRefuse);
#endif
  EXPECT_EQ(of(SYS_fcntl, 3, F_SETSIG), kRefuse);
  EXPECT_EQ(of(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL), kAllow);
  EXPECT_EQ(of(SYS_prctl, PR_SET_PDEATHSIG, SIGCONT), kRefuse);
  EXPECT_EQ(of(SYS_socket, 1), kAllow);
  EXPECT_EQ(of(SYS_socket, 2), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  EXPECT_EQ(of(SYS_socket, 40), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  EXPECT_EQ(of(SYS_flock), SECCOMP_RET_ERRNO | 0U);
  EXPECT_EQ(of(SYS_fcntl, 3, F_SETLK), SECCOMP_RET_ERRNO | 0U);
  EXPECT_EQ(of(SYS_fcntl, 3, F_SETLEASE), kRefuse);
  EXPECT_EQ(of(SYS_fcntl, 3, F_GETFL), kAllow);
  EXPECT_EQ(of(SYS_personality, 0), kAllow);
  EXPECT_EQ(of(SYS_personality, 0x0040000), kRefuse);
  EXPECT_EQ(of(467), kRefuse);
  EXPECT_EQ(of(SYS_shmget), kAllow);
  EXPECT_EQ(of(SYS_sched_setaffinity), kAllow);
}

TEST(Filter, KillsForeignArchitectures) {
  auto filter = compile_filter({}).value();
  EXPECT_EQ(verdict(filter, kForeign, SYS_read, {}), SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
  EXPECT_EQ(verdict(filter, kNative, 0x40000000 | SYS_read, {}), SECCOMP_RET_KILL_PROCESS);  // x32
#endif
}

TEST(Filter, OptionsRefuseMore) {
  auto filter = compile_filter({false, false}).value();
  EXPECT_EQ(verdict(filter, kNative, SYS_sched_setaffinity, {}), kRefuse);
  EXPECT_EQ(verdict(filter, kNative, SYS_shmget, {}), kRefuse);
}

}  // namespace
}  // namespace kw::sandbox
