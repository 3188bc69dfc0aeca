// For tests: problem sessions without a process. Executors and oracles are fake launches, and the
// test gives the checker's answers before they are asked for.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/problem_session.h"
#include "gym/supervisor/testing/fake_roles.h"
#include "os/memory.h"
#include "os/message.h"
#include "task/definition_json.h"
#include "task/workload_json.h"

namespace kw::gym::testing {

// y = 3 x + 1 over 256 elements.
inline task::Problem line_problem() {
  task::Problem problem;
  problem.name = "line";
  problem.body = *task::definition_from_json(
      *parse_json(R"({"name": "line", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
        "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
        "reference": "def run(x):\n    return 3 * x + 1\n"})"),
      "");
  problem.workloads = {*task::workload_from_json(
      *parse_json(R"({"uuid": "w", "axes": {"N": 256}, "inputs": {"x": {"type": "random"}}})"),
      "")};
  return problem;
}

class FakeSessions {
 public:
  Result<std::unique_ptr<ProblemSession>> open(const EvalOptions& options = {}) {
    return open(options, opening({}));
  }
  Result<std::unique_ptr<ProblemSession>> open(const EvalOptions& options, Opened with) {
    will_open.push_back(std::move(with));
    return ProblemSession::open(context(), problem, problem.workloads[0], options, {.admit = true},
                                {});
  }
  // Through a bench over context(); the request has been read.
  Result<std::unique_ptr<BenchSession>> open_on(Bench& bench, const EvalOptions& options = {}) {
    return open_on(bench, options, opening({}));
  }
  Result<std::unique_ptr<BenchSession>> open_on(Bench& bench, const EvalOptions& options,
                                                Opened with) {
    will_open.push_back(std::move(with));
    auto session = bench.open(problem, problem.workloads[0], options, true, {});
    if (session) request<OpenRequest>();
    return session;
  }
  // Its checkers answer the request to open as will_open says, one after the other.
  ProblemSession::Context context() {
    auto start_checker = [this](const CheckerProcess::Options& checker) {
      checker_device = checker.device;
      os::SocketPair pair = os::make_message_socket_pair().value();
      checker_ = std::move(pair.second);
      ++opened;
      answer(will_open.at(0));
      will_open.pop_front();
      return Result<std::unique_ptr<CheckerProcess>>(CheckerProcess::over(std::move(pair.first)));
    };
    return {&roles.programs, roles.roles.get(), &lease,     start_checker,
            device,          timed_on,          timed_place};
  }
  Opened opening(AdmissionFindings findings) const {
    Opened out;
    out.signature = task::signature_of(problem.definition(), problem.workloads[0], {}).value();
    out.findings = std::move(findings);
    return out;
  }
  // The next answer of the checker.
  void answer(const CheckerAnswer& with) {
    os::UniqueFd file = os::make_sealed_file("answer", to_json(with).dump()).value();
    ASSERT_TRUE(os::send_message(checker_.get(), to_json(Signal::kAnswer), {file.get()}));
  }
  // The checker ends behind the answers so far. Its requests can still be read.
  void end_checker() { ::shutdown(checker_.get(), SHUT_WR); }
  // The next request to the checker, with its descriptors' names in `fds`.
  template <typename T>
  T request() {
    os::Message message = os::receive_message(checker_.get(), std::chrono::milliseconds(0)).value();
    fds = message.body["fds"];
    received = ReceivedFds::of(message).value();
    return std::get<T>(checker_request_from_json(std::move(message.body)).value());
  }

  task::Problem problem = line_problem();
  std::deque<Opened> will_open;
  int opened = 0;                     // checkers
  std::optional<int> device;          // of the session that is opened next
  std::optional<int> checker_device;  // what its checker was told
  std::string timed_on = std::string(TimingLock::kCpu);
  TimedPlace timed_place;
  FakeRoles roles;
  HostLease lease{TimingLock::open_in(roles.folder.path()).value(), *roles.launchers, nullptr};
  Json fds;
  ReceivedFds received;

 private:
  os::UniqueFd checker_;
};

}  // namespace kw::gym::testing
