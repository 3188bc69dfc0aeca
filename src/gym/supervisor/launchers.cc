// Command lines and environments of the zygotes.
#include "gym/supervisor/launchers.h"

#include <utility>

namespace kw::gym {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

sandbox::Launcher::Options options_for(const Programs& programs, sandbox::Level at_least,
                                       const std::vector<std::string>& zygote_modules,
                                       const Environment& more) {
  sandbox::Launcher::Options options;
  options.at_least = at_least;
  options.launcher_program = programs.launcher.string();
  if (programs.python.empty()) return options;
  options.zygote_argv = {programs.python.string(), "-I",
                         (programs.python_folder / "zygote.py").string(),
                         programs.sandbox_leaf_library.string()};
  options.zygote_argv.insert(options.zygote_argv.end(), zygote_modules.begin(),
                             zygote_modules.end());
  options.zygote_environment = {{"LD_PRELOAD", programs.arena_library.string()},
                                {"OMP_NUM_THREADS", "1"},
                                {"MKL_NUM_THREADS", "1"},
                                {"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                {"LANG", "C.UTF-8"}};
  options.zygote_environment.insert(options.zygote_environment.end(), more.begin(), more.end());
  return options;
}

}  // namespace

Result<std::unique_ptr<Launchers>> Launchers::start(const Programs& programs,
                                                    sandbox::Level at_least, Start start_one) {
  std::unique_ptr<Launchers> launchers(new Launchers(programs, at_least, std::move(start_one)));
  KW_TRY(launchers->torch_,
         launchers->start_one_(
             options_for(programs, at_least,
                         {"executor=executor", "gpu_executor=gpu_executor", "oracle=oracle"}, {})));
  return launchers;
}

Result<sandbox::Launcher*> Launchers::special(Host host) {
  std::lock_guard lock(mutex_);
  auto& launcher = host == Host::kTritonInterpreter ? interpreter_
                   : host == Host::kTracer          ? tracer_
                                                    : compiler_;
  if (launcher != nullptr) return launcher.get();
  std::vector<std::string> modules = {"triton_compiler=triton_support.compiler",
                                      "triton_recorder=triton_support.recorder"};
  Environment more;
  if (host == Host::kTritonInterpreter) {
    modules = {"executor=executor", "triton_support.interpret"};
    more = {{"TRITON_INTERPRET", "1"}};
  } else if (host == Host::kTracer) {
    modules = {"tracer=tracer"};
  }
  sandbox::Launcher::Options options = options_for(programs_, at_least_, modules, more);
  KW_TRY(launcher, start_one_(std::move(options)));
  return launcher.get();
}

Result<std::unique_ptr<sandbox::Sandbox>> Launchers::launch(Host host, sandbox::Spec spec) {
  if (host == Host::kNative) return torch_->launch(sandbox::Where::kNative, std::move(spec));
  if (host == Host::kTorch) return torch_->launch(sandbox::Where::kZygote, std::move(spec));
  KW_TRY(sandbox::Launcher * launcher, special(host));
  return launcher->launch(sandbox::Where::kZygote, std::move(spec));
}

std::vector<sandbox::Launcher*> Launchers::all() {
  std::lock_guard lock(mutex_);
  std::vector<sandbox::Launcher*> launchers = {torch_.get()};
  for (const auto* more : {&interpreter_, &compiler_, &tracer_})
    if (*more != nullptr) launchers.push_back(more->get());
  return launchers;
}

Status Launchers::freeze_others(const std::vector<const sandbox::Sandbox*>& keep_running) {
  for (sandbox::Launcher* launcher : all()) KW_TRY_STATUS(launcher->freeze_others(keep_running));
  return {};
}

Status Launchers::thaw_others() {
  Status status;
  for (sandbox::Launcher* launcher : all()) {
    if (auto thawed = launcher->thaw_others(); !thawed) status = std::move(thawed);
  }
  return status;
}

}  // namespace kw::gym
