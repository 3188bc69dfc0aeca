// The spawn protocol as JSON.
#include "sandbox/spawn.h"

namespace kw::sandbox {
namespace {

Json binds_json(const std::vector<Bind>& binds) {
  Json list = Json::array();
  for (const Bind& bind : binds)
    list.push_back({bind.source, bind.target, bind.optional, bind.device});
  return list;
}

Result<std::vector<Bind>> parse_binds(const Json& list) {
  std::vector<Bind> binds;
  for (const Json& entry : list) {
    if (!entry.is_array() || entry.size() != 4 || !entry[0].is_string() || !entry[1].is_string() ||
        !entry[2].is_boolean() || !entry[3].is_boolean()) {
      return fail(ErrorCode::kInvalidArgument,
                  "binds: expected [source, target, optional, device]");
    }
    binds.push_back({entry[0].get<std::string>(), entry[1].get<std::string>(), entry[2].get<bool>(),
                     entry[3].get<bool>()});
  }
  return binds;
}

Json limits_json(const Limits& limits) {
  return {{"memory_bytes", limits.memory_bytes}, {"processes", limits.processes},
          {"work_bytes", limits.work_bytes},     {"work_inodes", limits.work_inodes},
          {"file_bytes", limits.file_bytes},     {"stack_bytes", limits.stack_bytes},
          {"open_files", limits.open_files},     {"cpu_seconds", limits.cpu_time.count()}};
}

Result<Limits> parse_limits(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "limits"));
  Limits limits;
  KW_TRY(auto memory, reader.integer("memory_bytes"));
  KW_TRY(auto processes, reader.integer("processes"));
  KW_TRY(auto work, reader.integer("work_bytes"));
  KW_TRY(auto inodes, reader.integer("work_inodes"));
  KW_TRY(auto file, reader.integer("file_bytes"));
  KW_TRY(auto stack, reader.integer("stack_bytes"));
  KW_TRY(auto files, reader.integer("open_files"));
  KW_TRY(auto seconds, reader.integer("cpu_seconds"));
  limits.memory_bytes = static_cast<std::uint64_t>(memory);
  limits.processes = static_cast<std::uint32_t>(processes);
  limits.work_bytes = static_cast<std::uint64_t>(work);
  limits.work_inodes = static_cast<std::uint32_t>(inodes);
  limits.file_bytes = static_cast<std::uint64_t>(file);
  limits.stack_bytes = static_cast<std::uint64_t>(stack);
  limits.open_files = static_cast<std::uint32_t>(files);
  limits.cpu_time = std::chrono::seconds(seconds);
  return limits;
}

// The names of the descriptors, in sending order; those that are not there are left out.
struct NamedFd {
  const char* name;
  int fd;
};
std::vector<NamedFd> named_fds(const SpawnRequest& request) {
  std::vector<NamedFd> named = {{"control", request.control.get()},
                                {"log", request.log.get()},
                                {"program", request.program.get()}};
  std::erase_if(named, [](const NamedFd& entry) { return entry.fd < 0; });
  return named;
}

Status place_fds(const Json& names, std::vector<os::UniqueFd> fds, SpawnRequest& request) {
  if (!names.is_array() || names.size() != fds.size()) {
    return fail(ErrorCode::kInvalidArgument, "fds: {} names for {} descriptors", names.size(),
                fds.size());
  }
  for (std::size_t i = 0; i < fds.size(); ++i) {
    if (names[i] == "control") {
      request.control = std::move(fds[i]);
    } else if (names[i] == "log") {
      request.log = std::move(fds[i]);
    } else if (names[i] == "program") {
      request.program = std::move(fds[i]);
    } else {
      return fail(ErrorCode::kInvalidArgument, "fds: unknown name {}", names[i].dump());
    }
  }
  return {};
}

}  // namespace

Json to_json(const HostConfig& config) {
  return {{"op", "configure"},
          {"namespaces", config.layers.namespaces},
          {"user_namespace", config.layers.user_namespace},
          {"own_uid", config.layers.own_uid},
          {"landlock_abi", config.layers.landlock_abi},
          {"group_folders", config.group_folders},
          {"binds", binds_json(config.binds)}};
}

Result<HostConfig> parse_host_config(os::Message message) {
  KW_TRY(ObjectReader reader, ObjectReader::make(message.body, "configure"));
  HostConfig config;
  KW_TRY(config.layers.namespaces, reader.boolean("namespaces"));
  KW_TRY(config.layers.user_namespace, reader.boolean("user_namespace"));
  KW_TRY(config.layers.own_uid, reader.boolean("own_uid"));
  KW_TRY(auto abi, reader.integer("landlock_abi"));
  config.layers.landlock_abi = static_cast<int>(abi);
  KW_TRY(config.group_folders, reader.strings_or_empty("group_folders"));
  KW_TRY(const Json* binds, reader.get("binds"));
  KW_TRY(config.binds, parse_binds(*binds));
  if (message.fds.size() != 2)
    return fail(ErrorCode::kInvalidArgument, "configure: expected two descriptors");
  config.filter = std::move(message.fds[0]);
  config.filter_no_affinity = std::move(message.fds[1]);
  return config;
}

std::vector<int> descriptors(const InitRequest& request) {
  std::vector<int> fds = {request.status.get(), request.command.get()};
  for (const os::UniqueFd& fd : request.procs) fds.push_back(fd.get());
  return fds;
}

Json to_json(const InitRequest& request) {
  return {{"op", "init"}, {"group_names", request.group_names}};
}

Result<InitRequest> parse_init_request(os::Message message) {
  KW_TRY(ObjectReader reader, ObjectReader::make(message.body, "init"));
  InitRequest request;
  KW_TRY(request.group_names, reader.strings_or_empty("group_names"));
  if (message.fds.size() != 2 + request.group_names.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "init: expected the status and command descriptors and one for each group");
  }
  request.status = std::move(message.fds[0]);
  request.command = std::move(message.fds[1]);
  for (std::size_t i = 2; i < message.fds.size(); ++i)
    request.procs.push_back(std::move(message.fds[i]));
  return request;
}

std::vector<int> descriptors(const SpawnRequest& request) {
  std::vector<int> fds;
  for (const NamedFd& entry : named_fds(request)) fds.push_back(entry.fd);
  return fds;
}

Json to_json(const SpawnRequest& request) {
  Json fds = Json::array();
  for (const NamedFd& entry : named_fds(request)) fds.push_back(entry.name);
  return {{"op", "spawn"},
          {"fds", fds},
          {"role", request.role},
          {"argv", request.argv},
          {"environment", request.environment},
          {"binds", binds_json(request.binds)},
          {"limits", limits_json(request.limits)},
          {"cpus", request.cpus},
          {"may_set_affinity", request.may_set_affinity},
          {"memory_group", request.memory_group},
          {"uid", request.uid},
          {"work_folder", request.work_folder}};
}

Result<SpawnRequest> parse_spawn_request(os::Message message) {
  KW_TRY(ObjectReader reader, ObjectReader::make(message.body, "spawn"));
  SpawnRequest request;
  KW_TRY(request.role, reader.string("role"));
  KW_TRY(request.argv, reader.strings_or_empty("argv"));
  KW_TRY(const Json* binds, reader.get("binds"));
  KW_TRY(request.binds, parse_binds(*binds));
  KW_TRY(const Json* limits, reader.get("limits"));
  KW_TRY(request.limits, parse_limits(*limits));
  KW_TRY(request.may_set_affinity, reader.boolean("may_set_affinity"));
  KW_TRY(request.memory_group, reader.boolean("memory_group"));
  KW_TRY(auto uid, reader.integer("uid"));
  request.uid = static_cast<std::uint32_t>(uid);
  KW_TRY(request.work_folder, reader.string("work_folder"));
  KW_TRY(const Json* environment, reader.get("environment"));
  for (const Json& entry : *environment) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) {
      return fail(ErrorCode::kInvalidArgument, "spawn.environment: expected pairs of strings");
    }
    request.environment.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
  }
  KW_TRY(const Json* cpus, reader.get("cpus"));
  for (const Json& cpu : *cpus) {
    if (!cpu.is_number_integer())
      return fail(ErrorCode::kInvalidArgument, "spawn.cpus: expected integers");
    request.cpus.push_back(cpu.get<int>());
  }
  KW_TRY(const Json* names, reader.get("fds"));
  KW_TRY_STATUS(place_fds(*names, std::move(message.fds), request));
  return request;
}

}  // namespace kw::sandbox
