// Launchers: the hosts that fork the gym's sandboxes. One serves native programs and one Python
// with torch. Two more serve Triton, which must be told before its import whether it interprets or
// compiles. The last serves the tracer, whose imports take several seconds.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/programs.h"
#include "sandbox/sandbox.h"

namespace kw::gym {

enum class Host {
  kNative,             // kernelwright-launcher
  kTorch,              // the zygote that has imported torch
  kTritonInterpreter,  // ... and triton under TRITON_INTERPRET=1
  kTritonCompiler,     // ... and triton without it
  kTracer,             // ... and torch's tracing
};

// Thread-safe. A zygote is started by the first launch that needs it.
class Launchers : public Sandboxes {
 public:
  using Start =
      std::function<Result<std::unique_ptr<sandbox::Launcher>>(sandbox::Launcher::Options)>;
  // kIsolationTooWeak when at_least cannot be reached. programs: borrowed. start_one: starts each
  // launcher; tests give a fake one (sandbox/testing/fake_launcher.h).
  static Result<std::unique_ptr<Launchers>> start(const Programs& programs, sandbox::Level at_least,
                                                  Start start_one = sandbox::Launcher::start);
  sandbox::Level level() const { return torch_->level(); }
  Result<std::unique_ptr<sandbox::Sandbox>> launch(Host host, sandbox::Spec spec);

  Status freeze_others(const std::vector<const sandbox::Sandbox*>& keep_running) override;
  Status thaw_others() override;

 private:
  Launchers(const Programs& programs, sandbox::Level at_least, Start start_one)
      : programs_(programs), at_least_(at_least), start_one_(std::move(start_one)) {}
  Result<sandbox::Launcher*> special(Host host);
  std::vector<sandbox::Launcher*> all();

  const Programs& programs_;
  sandbox::Level at_least_;
  Start start_one_;
  std::unique_ptr<sandbox::Launcher> torch_;  // native programs too
  std::mutex mutex_;                          // guards the members below
  std::unique_ptr<sandbox::Launcher> interpreter_, compiler_, tracer_;
};

}  // namespace kw::gym
