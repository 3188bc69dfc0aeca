// AheadCompiler: compiles candidates and judges nothing. What it builds lies in the build cache,
// where a gym with the same cache folder and tool chain finds it.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gym/eval_request.h"
#include "gym/gym.h"

namespace kw::gym {

enum class AheadOutcome { kBuilt, kKnown, kMistake, kNothing };
// "built", "in the cache already", "does not compile", "nothing to compile"
std::string_view to_string(AheadOutcome outcome);

// Any thread may call.
class AheadCompiler {
 public:
  struct Options {
    GymOptions gym = {};
    // Device code is compiled for GPUs of this architecture, such as "sm_90a"; no GPU is needed
    // here. Empty: none is compiled.
    std::string architecture = {};
  };
  // kUnsupported when nothing can be compiled here; kIsolationTooWeak as of Gym::start().
  static Result<std::unique_ptr<AheadCompiler>> start(Options options);
  virtual ~AheadCompiler() = default;

  // The languages that it compiles, by target: of cpp, cuda and ptx.
  virtual std::map<std::string, std::vector<std::string>> languages() const = 0;
  virtual sandbox::Level level() const = 0;
  // For every workload of the target. Problems that are modules have no interface before their
  // reference has run: nothing is compiled for them, nor for other languages. An error is the
  // machine's.
  virtual Result<AheadOutcome> compile(const EvalRequest& request) = 0;
};

}  // namespace kw::gym
