// Drives the real kernelwright-executor over memory files, as the checker does, without a sandbox.
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gym/protocol.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/message.h"
#include "task/signature.h"

namespace kw {
namespace {

using gym::Op;
using testing::HasSubstr;
constexpr std::int64_t kN = 1000;
constexpr std::size_t kSetBytes = 8192;

enum Mode : std::int64_t {
  kCompute = 0,
  kWriteInput = 1,
  kThrow = 2,
  kThrowInt = 3,
  kWildPointer = 4,
  kThreads = 5,
  kDescriptors = 6,
  kScratch = 7,
  kWriteStatic = 8,
};

struct Setup {
  std::string candidate = "good";
  Mode mode = kCompute;
  bool has_prepare = false;
  int sets = 1;
  int threads = 1;
  float weight = 0.5F;
};

Json signature_json(Mode mode) {
  task::Signature s;
  s.inputs = {{.name = "x", .shape = {kN}},
              {.name = "scale", .role = task::Role::kScalar, .value = 3.0},
              {.name = "mode",
               .role = task::Role::kScalar,
               .dtype = tensor::DType::kInt64,
               .value = static_cast<std::int64_t>(mode)}};
  s.statics = {{.name = "w", .role = task::Role::kStatic, .shape = {2}}};
  s.outputs = {{.name = "out", .role = task::Role::kOutput, .shape = {kN}}};
  s.axes = {{"n", kN}};
  return task::to_json(s);
}

// A memory file and the test's own mapping of it.
struct Shared {
  os::UniqueFd fd;
  os::Mapping mapping;

  static Shared make(const std::string& name, std::size_t bytes) {
    Shared shared;
    shared.fd = os::make_memory_file(name, bytes).value();
    shared.mapping = os::Mapping::shared(shared.fd.get(), bytes, true).value();
    return shared;
  }
  float* floats(std::size_t offset = 0) const {
    return reinterpret_cast<float*>(mapping.data() + offset);
  }
};

class Executor {
 public:
  explicit Executor(const Setup& setup)
      : command_(Shared::make("command", sizeof(gym::CommandPage))),
        reply_(Shared::make("reply", sizeof(gym::ReplyPage))),
        statics_(Shared::make("statics", 4096)) {
    statics_.floats(64)[0] = setup.weight;
    statics_.floats(64)[1] = 0.25F;
    for (int i = 0; i < setup.sets; ++i) {
      in_.push_back(Shared::make("in", kSetBytes));
      out_.push_back(Shared::make("out", kSetBytes));
      for (std::size_t j = 0; j < kN; ++j) {
        in_.back().floats(64)[j] = static_cast<float>(j) + static_cast<float>(i) * 0.5F;
      }
      command().input_offset[i][0] = 64;
      command().output_offset[i][0] = 128;
      command().set_of_call[i] = static_cast<std::uint32_t>(i);
      EXPECT_TRUE(os::seal_against_new_writers(in_.back().fd.get()));
    }
    EXPECT_TRUE(os::seal_against_new_writers(command_.fd.get()));
    EXPECT_TRUE(os::seal_against_new_writers(statics_.fd.get()));
    start(setup);
  }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  gym::CommandPage& command() {
    return *reinterpret_cast<gym::CommandPage*>(command_.mapping.data());
  }
  const gym::ReplyPage& reply() {
    return *reinterpret_cast<const gym::ReplyPage*>(reply_.mapping.data());
  }
  float* output(int set) { return out_[static_cast<std::size_t>(set)].floats(128); }
  const float* input(int set) { return in_[static_cast<std::size_t>(set)].floats(64); }

  bool wait_ready() {
    return wait([this] { return __atomic_load_n(&reply().state, __ATOMIC_ACQUIRE) != 0; }) &&
           reply().state == static_cast<std::uint32_t>(gym::ExecutorState::kReady);
  }
  // One launch; whether it was answered by done (and not by the end of the process).
  bool go(Op op, std::uint32_t calls = 1) {
    command().op = static_cast<std::uint32_t>(op);
    command().calls = calls;
    std::uint64_t seq = command().launch_seq + 1;
    __atomic_store_n(&command().launch_seq, seq, __ATOMIC_RELEASE);
    return wait([&] { return __atomic_load_n(&reply().done_seq, __ATOMIC_ACQUIRE) == seq; });
  }
  // The status of waitpid, once the process has ended.
  int end_status() {
    EXPECT_TRUE(wait([] { return false; }) || ended_) << "the executor still runs";
    return status_;
  }
  std::string log() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    return os::read_to_end(log_.get(), 1 << 20).value();
  }

 private:
  void start(const Setup& setup) {
    os::SocketPair control = os::make_message_socket_pair().value();
    os::Pipe log = os::make_pipe().value();
    os::UniqueFd control3(::fcntl(control.second.get(), F_DUPFD_CLOEXEC, 100));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, control3.get(), 3);
    posix_spawn_file_actions_adddup2(&actions, log.write_end.get(), 2);
    std::string program = KW_BINARY_DIR "/bin/kernelwright-executor";
    char* argv[] = {program.data(), nullptr};
    ASSERT_EQ(::posix_spawn(&pid_, argv[0], &actions, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    log_ = std::move(log.read_end);
    send(setup, control.first.get());
  }

  void send(const Setup& setup, int socket) {
    std::string object =
        os::read_file(KW_BINARY_DIR "/lib/kw_executor_" + setup.candidate + ".so").value();
    os::UniqueFd source = os::make_sealed_file("source", object).value();
    Json names = {"command", "reply", "statics", "source"};
    std::vector<int> fds = {command_.fd.get(), reply_.fd.get(), statics_.fd.get(), source.get()};
    for (std::size_t i = 0; i < in_.size(); ++i) {
      names.push_back(fmt::format("in{}", i));
      names.push_back(fmt::format("out{}", i));
      fds.push_back(in_[i].fd.get());
      fds.push_back(out_[i].fd.get());
    }
    Json body{{"op", "setup"},
              {"fds", names},
              {"language", "cpp"},
              {"kind", "definition"},
              {"sets", setup.sets},
              {"static_offsets", Json::array({64U})},
              {"entry", "kw_call"},
              {"has_prepare", setup.has_prepare},
              {"threads", setup.threads},
              {"signature", signature_json(setup.mode)}};
    ASSERT_TRUE(os::send_message(socket, body, fds));
  }

  // Polls until `done` or the end of the process, at most 20 s.
  template <typename Done>
  bool wait(Done done) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
        pid_ = -1;
        ended_ = true;
      }
      if (ended_ || std::chrono::steady_clock::now() > deadline) return done();
      std::this_thread::yield();
    }
    return true;
  }

  Shared command_, reply_, statics_;
  std::vector<Shared> in_, out_;
  os::UniqueFd log_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

TEST(Executor, ComputesEverySetOfAGo) {
  Executor executor({.sets = 3});
  ASSERT_TRUE(executor.wait_ready());
  EXPECT_EQ(executor.reply().style, static_cast<std::uint32_t>(gym::Style::kDestinationPassing));
  ASSERT_TRUE(executor.go(Op::kNullCall));
  EXPECT_EQ(executor.output(0)[1], 0.0F);
  executor.command().set_of_call[0] = 2;
  executor.command().set_of_call[1] = 0;
  ASSERT_TRUE(executor.go(Op::kCall, 2));
  for (std::size_t i = 0; i < kN; ++i) {
    ASSERT_EQ(executor.output(0)[i], executor.input(0)[i] * 3.0F + 0.5F);
    ASSERT_EQ(executor.output(2)[i], executor.input(2)[i] * 3.0F + 0.5F);
    ASSERT_EQ(executor.output(1)[i], 0.0F);
  }
  ASSERT_TRUE(executor.go(Op::kCall, 1));
  EXPECT_EQ(executor.reply().failure, 0U);
  executor.go(Op::kExit);
  EXPECT_EQ(executor.end_status(), 0);
}

TEST(Executor, PassesWhatPrepareReturned) {
  Executor executor({.has_prepare = true});
  ASSERT_TRUE(executor.wait_ready());
  ASSERT_TRUE(executor.go(Op::kPrepare));
  ASSERT_TRUE(executor.go(Op::kCall));
  EXPECT_EQ(executor.output(0)[2], 2.0F * 3.0F + 0.5F + 250.0F);
}

TEST(Executor, PrepareIsNothingWithoutOne) {
  Executor executor({});
  ASSERT_TRUE(executor.wait_ready());
  ASSERT_TRUE(executor.go(Op::kPrepare));
  ASSERT_TRUE(executor.go(Op::kCall));
  EXPECT_EQ(executor.output(0)[2], 6.5F);
}

TEST(Executor, ReportsAWriteToAnInput) {
  for (Mode mode : {kWriteInput, kWriteStatic}) {
    Executor executor({.mode = mode});
    ASSERT_TRUE(executor.wait_ready());
    EXPECT_FALSE(executor.go(Op::kCall));
    int status = executor.end_status();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_EQ(executor.reply().fault_signal, static_cast<std::uint32_t>(SIGSEGV));
    EXPECT_EQ(executor.reply().fault_on_input, 1U);
    EXPECT_NE(executor.reply().fault_address, 0U);
  }
}

TEST(Executor, ReportsOtherFaultsAsSuch) {
  Executor executor({.mode = kWildPointer});
  ASSERT_TRUE(executor.wait_ready());
  EXPECT_FALSE(executor.go(Op::kCall));
  executor.end_status();
  EXPECT_EQ(executor.reply().fault_signal, static_cast<std::uint32_t>(SIGSEGV));
  EXPECT_EQ(executor.reply().fault_on_input, 0U);
  EXPECT_EQ(executor.reply().fault_address, 64U);
}

// The checker reads a failure from the state: an exception is the end.
TEST(Executor, AnExceptionIsTheEnd) {
  Executor executor({.mode = kThrow, .sets = 2});
  ASSERT_TRUE(executor.wait_ready());
  EXPECT_FALSE(executor.go(Op::kCall, 2));
  EXPECT_EQ(executor.reply().state, static_cast<std::uint32_t>(gym::ExecutorState::kFailed));
  EXPECT_EQ(executor.reply().failure, static_cast<std::uint32_t>(gym::Failure::kException));
  EXPECT_EQ(executor.reply().failed_call, 0U);
  EXPECT_THAT(executor.log(), HasSubstr("the kernel does not like this"));

  Executor other({.mode = kThrowInt});
  ASSERT_TRUE(other.wait_ready());
  EXPECT_FALSE(other.go(Op::kCall));
  EXPECT_EQ(other.reply().failure, static_cast<std::uint32_t>(gym::Failure::kException));

  Executor prepare({.has_prepare = true, .weight = -1.0F});
  ASSERT_TRUE(prepare.wait_ready());
  EXPECT_FALSE(prepare.go(Op::kPrepare));
  EXPECT_EQ(prepare.reply().failure, static_cast<std::uint32_t>(gym::Failure::kException));
  EXPECT_THAT(prepare.log(), HasSubstr("negative weight"));
}

TEST(Executor, SaysWhyNothingCanBeCalled) {
  Executor empty({.candidate = "empty"});
  EXPECT_FALSE(empty.wait_ready());
  EXPECT_EQ(empty.reply().state, static_cast<std::uint32_t>(gym::ExecutorState::kFailed));
  EXPECT_EQ(empty.reply().failure, static_cast<std::uint32_t>(gym::Failure::kEntryMissing));
  EXPECT_THAT(empty.log(), HasSubstr("does not define kw_call"));

  Executor unresolved({.candidate = "unresolved"});
  EXPECT_FALSE(unresolved.wait_ready());
  EXPECT_EQ(unresolved.reply().failure, static_cast<std::uint32_t>(gym::Failure::kLoad));
  EXPECT_THAT(unresolved.log(), HasSubstr("nowhere_defined"));
}

TEST(Executor, LimitsOpenMpToItsThreads) {
  Executor executor({.mode = kThreads, .threads = 2});
  ASSERT_TRUE(executor.wait_ready());
  ASSERT_TRUE(executor.go(Op::kCall));
  EXPECT_EQ(executor.output(0)[0], 2.0F);
}

TEST(Executor, LeavesTheCandidateNoDescriptorButTheStandardOnes) {
  Executor executor({.mode = kDescriptors});
  ASSERT_TRUE(executor.wait_ready());
  ASSERT_TRUE(executor.go(Op::kCall));
  EXPECT_EQ(executor.output(0)[0], 3.0F);
}

TEST(Executor, KeepsFreedMemoryMapped) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator is not glibc's";
#endif
  Executor executor({.mode = kScratch});
  ASSERT_TRUE(executor.wait_ready());
  ASSERT_TRUE(executor.go(Op::kCall));
  EXPECT_LT(executor.output(0)[0], 16.0F);  // at least 50 when the block went back to the system
}

}  // namespace
}  // namespace kw
