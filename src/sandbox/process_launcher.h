// The supervisor's launcher: finds the strongest walls that work here, then starts sandboxes behind
// them.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/cgroup.h"
#include "sandbox/host_process.h"
#include "sandbox/process_sandbox.h"
#include "sandbox/sandbox.h"
#include "sandbox/spare_pool.h"
#include "sandbox/spawn.h"
#include "sandbox/uid_pool.h"

namespace kw::sandbox {

// What a launcher found out about this machine.
struct Reached {
  Level level = Level::kNone;
  Layers layers;
  bool memory_group = false, process_group = false, cpu_group = false;
  FreezeKind freeze = FreezeKind::kNone;
  std::vector<std::string> refused;  // stronger walls that were tried, and why they failed
};

// Weaker walls than this machine allows, to see how they behave.
struct Tuning {
  Level at_most = Level::kFull;
  std::optional<FreezeKind> freeze;  // the kind to use; kNone is not a choice
  bool spares = true;                // false: every launch makes its init
};

class ProcessLauncher final : public Launcher {
 public:
  static Result<std::unique_ptr<ProcessLauncher>> start(Options options, Tuning tuning = {});
  ~ProcessLauncher() override;

  Level level() const override { return reached_.level; }
  Status warm_zygote() override;
  Result<std::unique_ptr<Sandbox>> launch(Where where, Spec spec) override;
  Status freeze_others(const std::vector<const Sandbox*>& keep_running) override;
  Status thaw_others() override;

  const Reached& reached() const { return reached_; }
  SparePool& spares() { return spares_; }
  std::vector<std::string> group_folders() const { return groups_.folders().all(); }
  std::size_t leased_uids() const { return uids_ ? uids_->leased() : 0; }

 private:
  ProcessLauncher(Options options, Tuning tuning, Layers layers, GroupRoot groups)
      : options_(std::move(options)), tuning_(tuning), groups_(std::move(groups)) {
    reached_.layers = layers;
  }
  // One combination of walls, proved by a sandbox that really ran behind it.
  static Result<std::unique_ptr<ProcessLauncher>> attempt(const Options& options,
                                                          const Tuning& tuning,
                                                          const Layers& layers, bool with_groups);
  Status prepare();
  Status self_test();
  void note_reached();
  Result<HostConfig> host_config() const;
  Result<std::shared_ptr<HostProcess>> host(Where where);
  void forget_host(Where where, const HostProcess* dead);
  Result<Spawned> spawn(Where where, const InitRequest& request);
  Result<Spare> make_spare(Where where);
  Status equip(const Spec& spec, SandboxParts& parts, SpawnRequest& request);
  Result<MonitorFiles> begin(Spec spec, SandboxParts& parts, os::UniqueFd status);
  Result<MonitorFiles> open_monitor_files(const SandboxParts& parts, os::UniqueFd status,
                                          pid_t candidate);
  void await_thawed();
  void unlist(ProcessSandbox* sandbox);

  FreezeKind freeze_kind() const;

  Options options_;
  Tuning tuning_;
  GroupRoot groups_;
  std::unique_ptr<UidPool> uids_;
  os::UniqueFd filter_, filter_no_affinity_;
  Reached reached_;

  std::mutex hosts_mutex_;
  std::shared_ptr<HostProcess> native_, zygote_;  // shared with the spawns under way

  std::mutex list_mutex_;  // the four below
  std::condition_variable thawed_;
  std::set<ProcessSandbox*> sandboxes_;
  std::set<ProcessSandbox*> frozen_;
  bool freezing_ = false;

  std::atomic<std::uint64_t> number_ = 0;  // of groups
  bool keeps_spares_ = false;              // set once, before the launcher is handed out
  SparePool spares_{[this](Where where) { return make_spare(where); }};
};

}  // namespace kw::sandbox
