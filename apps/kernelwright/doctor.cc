// Findings in four groups: isolation and timing (from the sandbox), GPUs, languages, targets.
#include "kernelwright/doctor.h"

#include "base/text.h"
#include "kernelwright/cli/settings.h"

namespace kw::front {
namespace {

using sandbox::HealthCheck;
using State = HealthCheck::State;

constexpr const char* kVersion = KW_VERSION;

// Version of torch as major * 100 + minor, 0 where there is none.
int torch_version(const std::string& text) {
  std::vector<std::string> parts = split(text, '.');
  if (parts.size() < 2) return 0;
  return std::atoi(parts[0].c_str()) * 100 + std::atoi(parts[1].c_str());
}

HealthCheck tool(std::string name, const std::string& version, std::string cost) {
  if (version.empty()) return {std::move(name), State::kMissing, "not found", std::move(cost)};
  return {std::move(name), State::kOk, version, ""};
}

std::vector<HealthCheck> tool_checks(const ToolChain& tools) {
  std::vector<HealthCheck> out;
  out.push_back(tool("g++", tools.gxx, "cpp candidates cannot be built: install the package g++"));
  out.push_back(tool(
      "python", tools.python.empty() ? "" : fmt::format("{} ({})", tools.python, tools.python_path),
      "no reference can be run, so nothing can be judged: install python3"));
  HealthCheck torch =
      tool("torch", tools.torch,
           "no reference can be run, so nothing can be judged: ./kernelwright installs "
           "torch into .venv");
  if (!tools.torch.empty() && torch_version(tools.torch) < 211) {
    torch.state = State::kWarn;
    torch.cost = "older than 2.11, with which nothing was tested";
  }
  out.push_back(std::move(torch));
  out.push_back(tool("triton", tools.triton, "triton candidates cannot be judged"));
  out.push_back(tool("nvcc", tools.nvcc, "cuda candidates with host code cannot be built"));
  return out;
}

struct Target {
  task::Target target;
  gym::Capabilities capabilities;
};

// One that this build does not have is shown with the reason.
std::vector<Target> inspect_targets(const Services& services) {
  auto judge = services.start_judge(gym::GymOptions{});
  std::vector<Target> out;
  for (const task::Target asked : {task::Target::kCpu, task::Target::kCuda}) {
    Target target{asked, {}};
    auto found = judge ? (*judge)->capabilities(asked)
                       : Result<gym::Capabilities>(tl::unexpected(judge.error()));
    if (found) {
      target.capabilities = std::move(*found);
    } else {
      target.capabilities.why_not = found.error().message();
    }
    out.push_back(std::move(target));
  }
  return out;
}

HealthCheck check_of(const Target& target) {
  const gym::Capabilities& c = target.capabilities;
  const std::string name = fmt::format("target {}", to_string(target.target));
  if (!c.available) return {name, State::kMissing, printable(c.why_not, 300), ""};
  std::string detail = fmt::format("judges {}", join(c.languages, ", "));
  std::vector<std::string> without;
  if (!c.isolation) without.emplace_back("isolation");
  if (!c.freeze) without.emplace_back("freezing between calls");
  if (!c.clock) without.emplace_back("a second clock");
  if (without.empty()) return {name, State::kOk, detail, ""};
  return {name, State::kWarn, detail, "without " + join(without, ", ")};
}

void add_group(std::string& out, std::string_view title, const std::vector<HealthCheck>& checks,
               bool colour) {
  out += fmt::format("{}\n", title);
  for (const HealthCheck& check : checks) {
    std::string_view code = check.state == State::kOk     ? "32"
                            : check.state == State::kWarn ? "33"
                                                          : "31";
    std::string state = fmt::format("{:<7}", sandbox::to_string(check.state));
    if (colour) state = fmt::format("\x1b[{}m{}\x1b[0m", code, state);
    out += fmt::format("  {} {:<18} {}\n", state, printable(check.name, 40),
                       printable(check.detail, 400));
    if (!check.cost.empty())
      out += fmt::format("  {:<7} {:<18} {}\n", "", "", printable(check.cost, 400));
  }
}

Json to_json(const std::vector<HealthCheck>& checks) {
  Json out = Json::array();
  for (const HealthCheck& check : checks) {
    out.push_back({{"name", check.name},
                   {"state", sandbox::to_string(check.state)},
                   {"detail", check.detail},
                   {"cost", check.cost}});
  }
  return out;
}

// The codec stands here, so that the front library does not link the gym's.
Json capabilities_json(const gym::Capabilities& c) {
  return {{"available", c.available}, {"why_not", c.why_not}, {"isolation", c.isolation},
          {"freeze", c.freeze},       {"clock", c.clock},     {"languages", c.languages}};
}

}  // namespace

Result<int> run_doctor(const DoctorCommand& command, const Services& services) {
  ToolChain tools = inspect_tools(services.tools, find_checkout(services.program_folder));
  std::vector<HealthCheck> isolation = services.inspect_sandbox();
  std::vector<HealthCheck> gpus = services.inspect_gpus();
  std::vector<Target> targets = inspect_targets(services);
  if (command.json) {
    Json out = {{"schema", 1},
                {"isolation", to_json(isolation)},
                {"gpus", to_json(gpus)},
                {"tools", to_json(tools)},
                {"targets", Json::object()}};
    for (const Target& target : targets)
      out["targets"][to_string(target.target)] = capabilities_json(target.capabilities);
    KW_TRY_STATUS(
        services.console.out(out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
    return 0;
  }
  std::vector<HealthCheck> target_checks;
  target_checks.reserve(targets.size());
  for (const Target& target : targets) target_checks.push_back(check_of(target));
  bool colour = services.console.out_colour();
  std::string out;
  add_group(out, "Isolation and timing", isolation, colour);
  add_group(out, "\nGPUs", gpus, colour);
  add_group(out, "\nLanguages", tool_checks(tools), colour);
  add_group(out, "\nTargets", target_checks, colour);
  KW_TRY_STATUS(services.console.out(out));
  return 0;
}

Result<int> run_version(const VersionCommand& command, const Services& services) {
  ToolChain tools = inspect_tools(services.tools, find_checkout(services.program_folder));
  std::string out;
  if (command.json) {
    Json json = {
        {"version", kVersion}, {"gym_version", gym::kGymVersion}, {"tools", to_json(tools)}};
    out = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  } else {
    auto shown = [](const std::string& version) {
      return version.empty() ? std::string("missing") : version;
    };
    out = fmt::format(
        "kernelwright {}, gym {}\ntool chain {}: g++ {}, python {}, torch {}, triton {}\n",
        kVersion, gym::kGymVersion, tools.digest().substr(0, 16), shown(tools.gxx),
        shown(tools.python), shown(tools.torch), shown(tools.triton));
  }
  KW_TRY_STATUS(services.console.out(out));
  return 0;
}

}  // namespace kw::front
