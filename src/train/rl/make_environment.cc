#include "train/rl/make_environment.h"

#include <chrono>
#include <utility>
#include <vector>

#include "environment/recorded_environment.h"
#include "environment/toy_environment.h"
#include "environment_link/remote_environment.h"
#include "os/child_program.h"
#include "os/file.h"

namespace kw::train {
namespace {

// The gym's environment together with its process, which ends with it.
class GymEnvironment : public environment::Environment {
 public:
  static Result<std::unique_ptr<environment::Environment>> start(const RlSettings& settings,
                                                                 os::Standstill& standstill,
                                                                 const Say& say,
                                                                 const std::stop_token& stop) {
    const std::string program = settings.program.empty()
                                    ? (os::program_folder() / "kernelwright-environment").string()
                                    : settings.program;
    KW_TRY(const Json table, parse_json(settings.gym));
    auto child = os::ChildProgram::start({program});
    if (!child)
      return tl::unexpected(std::move(child).error().with_context("the gym's environment"));
    auto remote = environment_link::RemoteEnvironment::connect(
        child->take_socket(), table,
        environment_link::RemoteEnvironment::Patience(settings.patience_seconds), stop,
        &standstill);
    if (!remote) return tl::unexpected(std::move(remote).error());
    say("environment: " + (*remote)->about());
    return std::unique_ptr<environment::Environment>(
        new GymEnvironment(std::move(*child), std::move(*remote)));
  }
  // The process sees the socket's end, and stops its judgements.
  ~GymEnvironment() override {
    remote_.reset();
    child_.wait(kGrace);
  }
  GymEnvironment(const GymEnvironment&) = delete;
  GymEnvironment& operator=(const GymEnvironment&) = delete;

  std::vector<std::string> tasks() const override { return remote_->tasks(); }
  Result<std::unique_ptr<environment::Episode>> begin(const std::string& task,
                                                      const std::stop_token& stop) override {
    return remote_->begin(task, stop);
  }
  Status alive() const override { return remote_->alive(); }

 private:
  static constexpr std::chrono::seconds kGrace{10};
  GymEnvironment(os::ChildProgram child,
                 std::unique_ptr<environment_link::RemoteEnvironment> remote)
      : child_(std::move(child)), remote_(std::move(remote)) {}

  os::ChildProgram child_;
  std::unique_ptr<environment_link::RemoteEnvironment> remote_;
};

}  // namespace

Result<std::unique_ptr<environment::Environment>> make_environment(const RlSettings& settings,
                                                                   os::Standstill& standstill,
                                                                   const Say& say,
                                                                   const std::stop_token& stop) {
  if (settings.environment == "gym") return GymEnvironment::start(settings, standstill, say, stop);
  if (settings.environment == "recorded") {
    KW_TRY(const std::string text, os::read_file(settings.records, std::size_t{1} << 32U));
    return environment::RecordedEnvironment::make(text, settings.records);
  }
  return environment::ToyEnvironment::make({settings.toy_bytes, static_cast<int>(settings.turns)});
}

}  // namespace kw::train
