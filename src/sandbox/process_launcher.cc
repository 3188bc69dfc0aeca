// Choosing the walls, launching, and freezing the others.
#include "sandbox/process_launcher.h"

#include <algorithm>
#include <atomic>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/file.h"
#include "sandbox/landlock.h"
#include "sandbox/mounts.h"
#include "sandbox/seccomp_filter.h"

namespace kw::sandbox {
namespace {

// They end what hangs: a machine with busy cores and disks has taken 20 s for a sandbox.
constexpr auto kStartLimit = std::chrono::minutes(1);
constexpr auto kZygoteStartLimit = std::chrono::minutes(3);  // importing torch from a cold disk
constexpr auto kSandboxStartLimit = std::chrono::minutes(2);

std::string text_of(const char* path) {
  return os::read_file(path, 4U << 20U).value_or("");
}

std::vector<Hierarchy> own_hierarchies() {
  return find_hierarchies(text_of("/proc/self/mountinfo"), text_of("/proc/self/cgroup"));
}

// Strongest first.
std::vector<Layers> combinations(Level at_most) {
  int abi = landlock_abi();
  bool root = ::geteuid() == 0;
  std::vector<Layers> list;
  if (at_most >= Level::kNamespaces) list.push_back({true, !root, root, abi});
  list.push_back({false, false, root, abi});
  if (root) list.push_back({false, false, false, abi});
  return list;
}

CgroupFiles& kernel_files() {
  static CgroupFiles files;  // stateless
  return files;
}

std::string describe(const Layers& layers, bool groups) {
  std::string text = layers.namespaces ? (layers.user_namespace ? "user namespaces" : "namespaces")
                                       : "no namespaces";
  if (layers.own_uid) text += ", own uids";
  return text + (groups ? ", cgroups" : ", no cgroups");
}

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::start(Options options) {
  KW_TRY(std::unique_ptr<Launcher> launcher, ProcessLauncher::start(std::move(options)));
  return launcher;
}

Result<std::unique_ptr<ProcessLauncher>> ProcessLauncher::start(Options options, Tuning tuning) {
  remove_leftover_groups(kernel_files(), own_hierarchies());
  std::vector<std::string> refused;
  for (const Layers& layers : combinations(tuning.at_most)) {
    for (bool groups : {true, false}) {
      if (groups && tuning.at_most < Level::kFull) continue;
      auto launcher = attempt(options, tuning, layers, groups);
      if (!launcher) {
        refused.push_back(describe(layers, groups) + ": " + launcher.error().message());
        continue;
      }
      ProcessLauncher& made = **launcher;
      for (const std::string& missing : made.groups_.missing())
        refused.push_back("cgroups: " + missing);
      made.reached_.refused = std::move(refused);
      made.keeps_spares_ = tuning.spares;
      if (made.level() < options.at_least) {
        std::string reason =
            made.reached_.refused.empty() ? "" : "; " + made.reached_.refused.front();
        return fail(ErrorCode::kIsolationTooWeak,
                    "isolation level {} is asked for, but only {} can be reached here{} (see: "
                    "kernelwright doctor)",
                    static_cast<int>(options.at_least), static_cast<int>(made.level()), reason);
      }
      return launcher;
    }
  }
  return fail(ErrorCode::kUnsupported, "no sandbox works here: {}", refused.back());
}

Result<std::unique_ptr<ProcessLauncher>> ProcessLauncher::attempt(const Options& options,
                                                                  const Tuning& tuning,
                                                                  const Layers& layers,
                                                                  bool with_groups) {
  static std::atomic<unsigned> launchers = 0;  // numbers this process's groups, nothing else
  GroupRoot groups = with_groups ? GroupRoot::make(kernel_files(), own_hierarchies(),
                                                   supervisor_group_name(++launchers))
                                 : GroupRoot::none();
  if (with_groups && !groups.any()) return fail(ErrorCode::kUnsupported, "no cgroup can be made");
  std::unique_ptr<ProcessLauncher> launcher(
      new ProcessLauncher(options, tuning, layers, std::move(groups)));
  KW_TRY_STATUS(launcher->prepare());
  KW_TRY_STATUS(launcher->self_test());
  launcher->note_reached();
  return launcher;
}

Status ProcessLauncher::prepare() {
  bool own_ipc = reached_.layers.namespaces;
  KW_TRY(filter_, compile_filter({true, own_ipc}));
  KW_TRY(filter_no_affinity_, compile_filter({false, own_ipc}));
  if (reached_.layers.own_uid) {
    KW_TRY(uids_, UidPool::open("/run/kernelwright/uids"));
  }
  return {};
}

Status ProcessLauncher::self_test() {
  Spec spec;
  spec.role = "probe";
  spec.argv = {"kernelwright-launcher", "--self-test"};
  os::UniqueFd program(::open(options_.launcher_program.c_str(), O_RDONLY | O_CLOEXEC));
  spec.program_fd = program.get();
  if (!program.valid()) return fail_errno(errno, "cannot open " + options_.launcher_program);
  KW_TRY(auto sandbox, launch(Where::kNative, std::move(spec)));
  KW_TRY(Exit exit, sandbox->wait(kStartLimit));
  if (exit.signalled || exit.code != 0)
    return fail(ErrorCode::kUnsupported, "a program does not run in the sandbox ({} {})",
                exit.signalled ? "signal" : "exit code", exit.code);
  return {};
}

void ProcessLauncher::note_reached() {
  reached_.memory_group = groups_.limits_memory();
  reached_.process_group = groups_.limits_processes();
  reached_.cpu_group = groups_.pins_cpus();
  reached_.freeze = freeze_kind();
  const Layers& layers = reached_.layers;
  bool groups =
      reached_.memory_group && reached_.process_group && groups_.freeze_kind() != FreezeKind::kNone;
  if (layers.namespaces && layers.own_uid && groups) {
    reached_.level = Level::kFull;
  } else if (layers.namespaces) {
    reached_.level = Level::kNamespaces;
  } else {
    reached_.level = layers.landlock_abi > 0 ? Level::kBasic : Level::kNone;
  }
}

FreezeKind ProcessLauncher::freeze_kind() const {
  if (tuning_.freeze == FreezeKind::kSignals || groups_.freeze_kind() == FreezeKind::kNone)
    return FreezeKind::kSignals;
  if (tuning_.freeze == FreezeKind::kV1 && !groups_.folders().freezer.empty())
    return FreezeKind::kV1;
  return groups_.freeze_kind();
}

Result<HostConfig> ProcessLauncher::host_config() const {
  HostConfig config;
  config.layers = reached_.layers;
  config.binds = standard_binds();
  config.group_folders = groups_.folders().all();
  KW_TRY(config.filter, filter_.duplicate());
  KW_TRY(config.filter_no_affinity, filter_no_affinity_.duplicate());
  return config;
}

Result<std::shared_ptr<HostProcess>> ProcessLauncher::host(Where where) {
  std::lock_guard guard(hosts_mutex_);
  std::shared_ptr<HostProcess>& host = where == Where::kNative ? native_ : zygote_;
  if (host) return host;
  HostCommand command{{options_.launcher_program},
                      {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}},
                      kStartLimit};
  if (where == Where::kZygote) {
    if (options_.zygote_argv.empty())
      return fail(ErrorCode::kUnsupported, "no Python is configured for sandboxes");
    command.argv = options_.zygote_argv;
    command.start_limit = kZygoteStartLimit;
    for (const auto& variable : options_.zygote_environment)
      command.environment.push_back(variable);
  }
  KW_TRY(HostConfig config, host_config());
  KW_TRY(host, HostProcess::start(command, config));
  return host;
}

void ProcessLauncher::forget_host(Where where, const HostProcess* dead) {
  std::lock_guard guard(hosts_mutex_);
  std::shared_ptr<HostProcess>& host = where == Where::kNative ? native_ : zygote_;
  if (host.get() == dead) host.reset();
}

Status ProcessLauncher::warm_zygote() {
  KW_TRY([[maybe_unused]] auto ready, host(Where::kZygote));
  return {};
}

void ProcessLauncher::await_thawed() {
  std::unique_lock lock(list_mutex_);
  thawed_.wait(lock, [this] { return !freezing_; });
}

Result<Spare> ProcessLauncher::make_spare(Where where) {
  Spare spare;
  InitRequest request;
  spare.parts.namespaces = reached_.layers.namespaces;
  spare.parts.retire = [this](Group group) { spares_.retire(std::move(group)); };
  if (groups_.any()) {
    KW_TRY(Group group, groups_.create("sandbox-" + std::to_string(++number_)));
    spare.parts.group.emplace(std::move(group));
    KW_TRY(request.procs, spare.parts.group->open_procs(request.group_names));
  }
  KW_TRY(os::SocketPair status, os::make_message_socket_pair());
  int on = 1;
  if (::setsockopt(status.first.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return fail_errno(errno, "cannot ask for credentials");
  KW_TRY(os::SocketPair command, os::make_message_socket_pair());
  request.status = std::move(status.second);
  request.command = std::move(command.second);
  spare.status = std::move(status.first);
  spare.parts.command = std::move(command.first);
  KW_TRY(spare.parts.spawned, spawn(where, request));
  return spare;
}

Result<Spawned> ProcessLauncher::spawn(Where where, const InitRequest& request) {
  KW_TRY(std::shared_ptr<HostProcess> process, host(where));
  auto spawned = process->spawn(request);
  if (!spawned && spawned.error().code() == ErrorCode::kUnavailable)
    forget_host(where, process.get());
  return spawned;
}

// Uid, limits and work folder: nothing of these belongs to a spare.
Status ProcessLauncher::equip(const Spec& spec, SandboxParts& parts, SpawnRequest& request) {
  if (uids_) {
    KW_TRY(parts.uid, uids_->lease());
    request.uid = parts.uid->uid();
  }
  if (parts.group) {
    KW_TRY_STATUS(parts.group->limit(spec.limits, spec.cpus));
    request.memory_group = groups_.limits_memory();
  }
  if (!parts.namespaces) {
    KW_TRY(parts.work, os::TempDir::make("kernelwright-work-"));
    request.work_folder = parts.work->path().string();
    if (request.uid != 0 && ::chown(request.work_folder.c_str(), request.uid, request.uid) != 0)
      return fail_errno(errno, "cannot give the work folder away");
  }
  return {};
}

Result<std::unique_ptr<Sandbox>> ProcessLauncher::launch(Where where, Spec spec) {
  await_thawed();
  auto spare = spares_.take(where);
  if (!spare) return tl::unexpected(std::move(spare).error());
  SandboxParts parts = std::move(spare->parts);
  auto files = begin(std::move(spec), parts, std::move(spare->status));
  if (keeps_spares_) spares_.fill(where);
  if (!files) {
    // Whatever was started goes first; a uid whose processes may live on is not given back.
    KW_TRY_STATUS(end_processes(parts));
    KW_TRY_STATUS(give_back(parts));
    return tl::unexpected(std::move(files).error());
  }
  auto sandbox = std::make_unique<ProcessSandbox>(std::move(parts), std::move(*files),
                                                  [this](ProcessSandbox* ended) { unlist(ended); });
  std::lock_guard guard(list_mutex_);
  sandboxes_.insert(sandbox.get());
  // It was on its way when the others were frozen.
  if (freezing_) {
    KW_TRY_STATUS(sandbox->monitor().freeze());
    frozen_.insert(sandbox.get());
  }
  return sandbox;
}

Result<MonitorFiles> ProcessLauncher::begin(Spec spec, SandboxParts& parts, os::UniqueFd status) {
  SpawnRequest request;
  if (spec.program_fd >= 0) {
    request.program.reset(::fcntl(spec.program_fd, F_DUPFD_CLOEXEC, 3));
    if (!request.program.valid())
      return fail_errno(errno, "cannot duplicate the program's descriptor");
  }
  KW_TRY_STATUS(equip(spec, parts, request));
  request.role = std::move(spec.role);
  request.argv = std::move(spec.argv);
  request.environment = std::move(spec.environment);
  request.binds = std::move(spec.binds);
  request.limits = spec.limits;
  request.cpus = std::move(spec.cpus);
  request.may_set_affinity = spec.may_set_affinity;
  request.control = std::move(spec.control);
  request.log = std::move(spec.log);
  auto sent = os::send_message(parts.command.get(), to_json(request), descriptors(request));
  // An init that has ended said why on its status socket.
  if (!sent && sent.error().code() != ErrorCode::kUnavailable)
    return tl::unexpected(std::move(sent).error());
  request = {};  // our copies of the sandbox's ends: without them the end of its processes is the
                 // end of the sockets
  KW_TRY(pid_t candidate, await_started(status.get(), kSandboxStartLimit));
  return open_monitor_files(parts, std::move(status), candidate);
}

Result<MonitorFiles> ProcessLauncher::open_monitor_files(const SandboxParts& parts,
                                                         os::UniqueFd status, pid_t candidate) {
  MonitorFiles files;
  files.candidate = candidate;
  files.status = std::move(status);
  // A short program may have ended already: then there is no count to read.
  auto stat = kernel_files().open("/proc/" + std::to_string(candidate) + "/stat", O_RDONLY);
  if (stat) files.stat = std::move(*stat);
  auto schedule =
      kernel_files().open("/proc/" + std::to_string(candidate) + "/schedstat", O_RDONLY);
  if (schedule) files.schedule = std::move(*schedule);
  files.freeze = freeze_kind();
  if (files.freeze == FreezeKind::kSignals) {
    KW_TRY(files.command, parts.command.duplicate());
  }
  if (!parts.group) return files;
  const GroupFolders& folders = parts.group->folders();
  if (files.freeze == FreezeKind::kUnified) {
    KW_TRY(files.freezer, kernel_files().open(folders.unified + "/cgroup.freeze", O_RDWR));
    KW_TRY(files.frozen, kernel_files().open(folders.unified + "/cgroup.events", O_RDONLY));
  } else if (files.freeze == FreezeKind::kV1) {
    KW_TRY(files.freezer, kernel_files().open(folders.freezer + "/freezer.state", O_RDWR));
  }
  if (!folders.cpuacct.empty()) {
    KW_TRY(files.cpu, kernel_files().open(folders.cpuacct + "/cpuacct.usage", O_RDONLY));
  } else if (!folders.unified.empty()) {
    KW_TRY(files.cpu, kernel_files().open(folders.unified + "/cpu.stat", O_RDONLY));
    files.cpu_in_microseconds = true;
  }
  if (!folders.memory.empty()) {
    bool v2 = groups_.folders().memory_v2;
    KW_TRY(files.memory,
           kernel_files().open(folders.memory + (v2 ? "/memory.events" : "/memory.oom_control"),
                               O_RDONLY));
    KW_TRY(files.faults, kernel_files().open(folders.memory + "/memory.stat", O_RDONLY));
  }
  // A kernel may lack it.
  if (!folders.unified.empty()) {
    auto pressure = kernel_files().open(folders.unified + "/cpu.pressure", O_RDONLY);
    if (pressure) files.pressure = std::move(*pressure);
  }
  return files;
}

Status ProcessLauncher::freeze_others(const std::vector<const Sandbox*>& keep_running) {
  std::unique_lock lock(list_mutex_);
  thawed_.wait(lock, [this] { return !freezing_; });
  freezing_ = true;
  lock.unlock();
  spares_.pause();
  lock.lock();
  for (ProcessSandbox* sandbox : sandboxes_) {
    if (std::find(keep_running.begin(), keep_running.end(), sandbox) != keep_running.end())
      continue;
    auto frozen = sandbox->descriptor_monitor().freeze_unless_frozen();
    if (!frozen) {
      lock.unlock();
      KW_TRY_STATUS(thaw_others());
      return tl::unexpected(std::move(frozen).error());
    }
    if (*frozen) frozen_.insert(sandbox);
  }
  return {};
}

Status ProcessLauncher::thaw_others() {
  std::lock_guard guard(list_mutex_);
  Status result;
  for (ProcessSandbox* sandbox : frozen_) {
    if (auto thawed = sandbox->monitor().thaw(); !thawed) result = std::move(thawed);
  }
  frozen_.clear();
  spares_.resume();
  freezing_ = false;
  thawed_.notify_all();
  return result;
}

void ProcessLauncher::unlist(ProcessSandbox* sandbox) {
  std::lock_guard guard(list_mutex_);
  sandboxes_.erase(sandbox);
  frozen_.erase(sandbox);
}

ProcessLauncher::~ProcessLauncher() {
  spares_.stop();
  // The hosts first: they end what still runs, and the groups below can then be removed.
  zygote_.reset();
  native_.reset();
}

}  // namespace kw::sandbox
