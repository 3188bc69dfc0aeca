#include "train/parallel/launch.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace kw::train {
namespace {

constexpr int kUsualPort = 29500;  // torchrun's

Result<int> number_of(const Variables& variables, const char* name, int low, int high,
                      std::optional<int> missing = {}) {
  const std::optional<std::string> text = variables(name);
  if (!text) {
    if (missing) return *missing;
    return fail(ErrorCode::kInvalidArgument, "{} is not set, though other variables of ranks are",
                name);
  }
  int out = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, out);
  if (error != std::errc() || stopped != end || out < low || out > high)
    return fail(ErrorCode::kInvalidArgument, "{}: expected {} to {}, not \"{}\"", name, low, high,
                printable(*text, 40));
  return out;
}

constexpr int kMaxRanks = 4096, kMaxPort = 65535;

Result<Launch> by_torchrun(const Variables& variables) {
  Launch out;
  KW_TRY(out.size, number_of(variables, "WORLD_SIZE", 1, kMaxRanks));
  KW_TRY(out.rank, number_of(variables, "RANK", 0, out.size - 1));
  KW_TRY(out.local_rank, number_of(variables, "LOCAL_RANK", 0, out.rank));
  KW_TRY(out.local_size, number_of(variables, "LOCAL_WORLD_SIZE", 1, out.size, out.local_rank + 1));
  out.address = variables("MASTER_ADDR").value_or("");
  if (out.address.empty()) return fail(ErrorCode::kInvalidArgument, "MASTER_ADDR is not set");
  KW_TRY(out.port, number_of(variables, "MASTER_PORT", 1, kMaxPort - 1));
  // torchrun's agent has a store at the port.
  if (variables("TORCHELASTIC_USE_AGENT_STORE") == "True") ++out.port;
  return out;
}

Result<Launch> by_slurm(const Variables& variables) {
  Launch out;
  KW_TRY(out.size, number_of(variables, "SLURM_NTASKS", 1, kMaxRanks));
  KW_TRY(out.rank, number_of(variables, "SLURM_PROCID", 0, out.size - 1));
  KW_TRY(out.local_rank, number_of(variables, "SLURM_LOCALID", 0, out.rank));
  // "4(x2)" or "2,1": tasks of each node, of which the first is enough to share a machine's cores.
  const std::string tasks = variables("SLURM_STEP_TASKS_PER_NODE").value_or("");
  std::from_chars(tasks.data(), tasks.data() + tasks.size(), out.local_size);
  out.local_size = std::max(out.local_size, out.local_rank + 1);
  out.address = variables("MASTER_ADDR").value_or("");
  if (out.address.empty()) {
    std::optional<std::string> list = variables("SLURM_STEP_NODELIST");
    if (!list) list = variables("SLURM_NODELIST");
    if (!list)
      return fail(ErrorCode::kInvalidArgument,
                  "neither MASTER_ADDR nor SLURM_NODELIST says where rank 0 is");
    KW_TRY(out.address, first_host(*list));
  }
  KW_TRY(out.port, number_of(variables, "MASTER_PORT", 1, kMaxPort, kUsualPort));
  return out;
}

}  // namespace

Variables process_variables() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets one
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<Launch> launch_of(const Variables& variables) {
  if (variables("RANK") || variables("WORLD_SIZE")) return by_torchrun(variables);
  if (variables("SLURM_PROCID") && variables("SLURM_STEP_ID") &&
      variables("SLURM_STEP_ID") != "batch" && variables("SLURM_STEP_ID") != "4294967291")
    return by_slurm(variables);
  return Launch{};
}

Result<std::string> first_host(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  std::string out = list.substr(0, end);
  if (end != std::string::npos && list[end] == '[') {
    const std::size_t close = list.find(']', end);
    const std::size_t stop = list.find_first_of(",-]", end);
    const std::string number = list.substr(end + 1, stop == std::string::npos ? 0 : stop - end - 1);
    const bool digits = !number.empty() && std::ranges::all_of(number, [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    // A second bracket of the same name ("rack[1-2]n[3-4]") is not known here.
    const bool ends =
        close != std::string::npos && (close + 1 == list.size() || list[close + 1] == ',');
    if (!digits || !ends)
      return fail(
          ErrorCode::kInvalidArgument,
          "Slurm's list of nodes \"{}\" cannot be read: set MASTER_ADDR to the host of rank 0",
          printable(list, 80));
    out += number;
  }
  if (out.empty())
    return fail(ErrorCode::kInvalidArgument,
                "Slurm's list of nodes is empty: set MASTER_ADDR to the host of rank 0");
  return out;
}

Result<std::string> visible_gpu(const Launch& launch, const std::optional<std::string>& visible) {
  if (!visible) return std::to_string(launch.local_rank);
  const std::vector<std::string> all = split(*visible, ',');
  if (all.size() == 1) return all.front();
  if (static_cast<std::size_t>(launch.local_rank) < all.size())
    return all[static_cast<std::size_t>(launch.local_rank)];
  return fail(ErrorCode::kInvalidArgument,
              "CUDA_VISIBLE_DEVICES has {} GPUs, and rank {} is number {} of its machine: start as "
              "many ranks as there are GPUs",
              all.size(), launch.rank, launch.local_rank + 1);
}

}  // namespace kw::train
