// Launchers: what forks the gym's sandboxes: one host for native programs and for Python with
// torch, two more for Triton, which must be told before its import whether it interprets or
// compiles, and one for the tracer, whose imports take several seconds.
#pragma once
#include <array>
#include <memory>
#include <mutex>
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
  // kIsolationTooWeak when at_least cannot be reached. programs: borrowed.
  static Result<std::unique_ptr<Launchers>> start(const Programs& programs,
                                                  sandbox::Level at_least);
  sandbox::Level level() const { return torch_->level(); }
  Result<std::unique_ptr<sandbox::Sandbox>> launch(Host host, sandbox::Spec spec);

  Status freeze_others(const std::vector<const sandbox::Sandbox*>& keep_running) override;
  Status thaw_others() override;

 private:
  Launchers(const Programs& programs, sandbox::Level at_least)
      : programs_(programs), at_least_(at_least) {}
  Result<sandbox::Launcher*> special(Host host);
  std::vector<sandbox::Launcher*> all();

  const Programs& programs_;
  sandbox::Level at_least_;
  std::unique_ptr<sandbox::Launcher> torch_;  // native programs too
  std::mutex mutex_;                          // of those below
  std::unique_ptr<sandbox::Launcher> interpreter_, compiler_, tracer_;
};

}  // namespace kw::gym
