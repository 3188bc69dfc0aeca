// Format: "KWPLAN1\n", the size of the plan's JSON as a line of digits, the JSON, then the contents
// of all modules and of all constants without gaps.
#include "gym/cuda/plan_file.h"

#include <charconv>

#include "base/hash.h"

namespace kw::gym {
namespace {

constexpr std::string_view kMagic = "KWPLAN1\n";

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, "plan file: {}", what);
}

bool fits(const task::PlanBlob& blob, std::string_view bytes) {
  return blob.bytes == static_cast<std::int64_t>(bytes.size()) && blob.sha256 == sha256_hex(bytes);
}

// Cuts the blob's bytes off the front of rest.
Result<std::string> take(const task::PlanBlob& blob, std::string_view& rest) {
  if (blob.bytes < 0 || static_cast<std::uint64_t>(blob.bytes) > rest.size())
    return damaged("it ends within " + blob.name);
  std::string bytes(rest.substr(0, static_cast<std::size_t>(blob.bytes)));
  rest.remove_prefix(bytes.size());
  if (!fits(blob, bytes)) return damaged(blob.name + " has another hash than the plan says");
  return bytes;
}

}  // namespace

Result<std::string> write_plan_file(const PlanContents& contents) {
  const task::LaunchPlan& plan = contents.plan;
  if (contents.modules.size() != plan.modules.size() ||
      contents.constants.size() != plan.constants.size())
    return damaged("another number of contents than the plan has");
  const std::string json = task::to_json(plan).dump();
  std::string out = fmt::format("{}{}\n{}", kMagic, json.size(), json);
  for (std::size_t i = 0; i < plan.modules.size(); ++i) {
    if (!fits(plan.modules[i].content, contents.modules[i]))
      return damaged(plan.modules[i].content.name + " is not what the plan says");
    out += contents.modules[i];
  }
  for (std::size_t i = 0; i < plan.constants.size(); ++i) {
    if (!fits(plan.constants[i], contents.constants[i]))
      return damaged(plan.constants[i].name + " is not what the plan says");
    out += contents.constants[i];
  }
  return out;
}

Result<PlanContents> read_plan_file(std::string_view file) {
  if (!file.starts_with(kMagic)) return damaged("another format");
  file.remove_prefix(kMagic.size());
  std::size_t json_bytes = 0;
  const char *begin = file.data(), *end = begin + file.size();
  auto [stop, error] = std::from_chars(begin, end, json_bytes);
  if (error != std::errc() || stop == end || *stop != '\n') return damaged("no size of the plan");
  file.remove_prefix(static_cast<std::size_t>(stop - begin) + 1);
  if (json_bytes > file.size()) return damaged("it ends within the plan");
  KW_TRY(Json json, parse_json(file.substr(0, json_bytes)));
  file.remove_prefix(json_bytes);
  PlanContents out;
  KW_TRY(out.plan, task::launch_plan_from_json(json));
  for (const task::PlanModule& module : out.plan.modules) {
    KW_TRY(std::string bytes, take(module.content, file));
    out.modules.push_back(std::move(bytes));
  }
  for (const task::PlanBlob& constant : out.plan.constants) {
    KW_TRY(std::string bytes, take(constant, file));
    out.constants.push_back(std::move(bytes));
  }
  if (!file.empty()) return damaged("bytes behind the last content");
  return out;
}

}  // namespace kw::gym
