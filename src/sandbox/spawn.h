// The spawn protocol between the supervisor and the two processes that fork sandboxes (launcher and
// zygote): docs/sandbox.md. Both sides are trusted; only StatusRecord also crosses the border of a
// sandbox, and only before hostile code runs.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"
#include "os/message.h"
#include "sandbox/sandbox.h"

namespace kw::sandbox {

// Which walls a host builds around every sandbox. Chosen once by the supervisor, the same for all
// sandboxes of a host.
struct Layers {
  bool namespaces = false;      // mount, pid, net, ipc, uts, cgroup
  bool user_namespace = false;  // the namespaces above are those of a plain user
  bool own_uid = false;         // every sandbox has a leased uid
  int landlock_abi = 0;         // 0: no Landlock
};

// Sent once to a fresh host, before any spawn. fds: the two seccomp programs, as sock_filter
// arrays.
struct HostConfig {
  Layers layers;
  std::vector<Bind> binds;                 // standard ones: part of every sandbox
  std::vector<std::string> group_folders;  // the supervisor's cgroups: the launcher removes them
                                           // when the supervisor is gone
  os::UniqueFd filter, filter_no_affinity;
};
Json to_json(const HostConfig& config);
Result<HostConfig> parse_host_config(os::Message message);

// Sent to the host: what the init of a sandbox needs before anybody knows what will run in it.
struct InitRequest {
  std::vector<std::string> group_names;  // for messages, one per descriptor of procs
  os::UniqueFd status, command;
  std::vector<os::UniqueFd> procs;  // cgroup.procs files that the init writes itself into
};
std::vector<int> descriptors(const InitRequest& request);
Json to_json(const InitRequest& request);
Result<InitRequest> parse_init_request(os::Message message);

// Sent to the init over its command socket: what runs, and behind which limits.
struct SpawnRequest {
  std::string role;
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Bind> binds;
  Limits limits;
  std::vector<int> cpus;
  bool may_set_affinity = true;
  bool memory_group = false;  // a cgroup limits the memory; otherwise RLIMIT_DATA does
  std::uint32_t uid = 0;      // 0: keep the host's
  std::string work_folder;    // without namespaces: the folder that stands for /work
  os::UniqueFd control, log, program;
};
// The descriptors of the request, borrowed, in the order of the "fds" that to_json lists.
std::vector<int> descriptors(const SpawnRequest& request);
Json to_json(const SpawnRequest& request);
Result<SpawnRequest> parse_spawn_request(os::Message message);

// What a sandbox says on its status socket (SOCK_SEQPACKET), one packet each: kReady when its init
// waits for the spawn request, then kStarted, then kExited; kFailed in place of either of the first
// two.
struct StatusRecord {
  static constexpr std::uint32_t kMagic = 0x4B575354;
  enum Kind : std::uint32_t { kStarted = 1, kFailed = 2, kExited = 3, kReady = 4 };
  std::uint32_t magic = kMagic;
  std::uint32_t kind = 0;
  std::uint32_t signalled = 0;  // kExited
  std::int32_t code = 0;        // kExited: exit code or signal; kFailed: errno
  std::uint64_t cpu_ns = 0;     // kExited: of the candidate and what it waited for
  std::uint64_t reserved = 0;
  char step[96] = {};  // kFailed: what could not be done
};
static_assert(sizeof(StatusRecord) == 128);

// Exit code of a sandbox whose program could not be executed, as shells have it.
inline constexpr int kExecFailed = 127;

// Fixed names inside every sandbox with namespaces.
inline constexpr const char* kWorkFolder = "/work";
inline constexpr const char* kHostName = "sandbox";

}  // namespace kw::sandbox
