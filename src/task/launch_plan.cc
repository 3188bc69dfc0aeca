// Names and JSON of launch plans: docs/formats/launch_plan.md.
#include "task/launch_plan.h"

#include <utility>

namespace kw::task {
namespace {

void write(Json& out, const PlanMemory& memory) {
  out[std::string(to_string(memory.kind))] = memory.index;
  if (memory.offset) out["offset"] = to_json(*memory.offset);
}

Json json_from(const PlanMemory& memory) {
  Json out = Json::object();
  write(out, memory);
  return out;
}

Json json_from(const PlanScalar& scalar) {
  Json out = {{"scalar", to_string(scalar.dtype)}};
  if (const auto* input = std::get_if<HostScalar>(&scalar.value)) {
    out["input"] = input->index;
  } else if (const auto* number = std::get_if<double>(&scalar.value)) {
    out["value"] = *number;
  } else {
    out["value"] = to_json(std::get<LaunchExpression>(scalar.value));
  }
  return out;
}

Json json_from(const PlanTensorMap& map) {
  Json inner = {{"type", map.type}};
  write(inner, map.memory);
  inner["sizes"] = to_json(map.sizes);
  inner["strides"] = to_json(map.strides);
  inner["box"] = map.box;
  inner["element_strides"] = map.element_strides;
  inner["interleave"] = map.interleave;
  inner["swizzle"] = map.swizzle;
  inner["promotion"] = map.promotion;
  inner["nan_fill"] = map.nan_fill;
  return {{"tensor_map", inner}};
}

Json json_from(const PlanArgument& argument) {
  if (const auto* memory = std::get_if<PlanMemory>(&argument)) return json_from(*memory);
  if (const auto* scalar = std::get_if<PlanScalar>(&argument)) return json_from(*scalar);
  if (const auto* map = std::get_if<PlanTensorMap>(&argument)) return json_from(*map);
  return {{"null", true}};
}

Json json_from(const PlanLaunch& launch) {
  Json out = {{"module", launch.module},
              {"function", launch.function},
              {"grid", to_json(launch.grid)},
              {"block", to_json(launch.block)}};
  if (!launch.cluster.empty()) out["cluster"] = to_json(launch.cluster);
  if (launch.spread_clusters) out["spread_clusters"] = true;
  if (launch.shared_bytes) out["shared_bytes"] = to_json(*launch.shared_bytes);
  if (launch.cooperative) out["cooperative"] = true;
  if (launch.dependent) out["dependent"] = true;
  out["arguments"] = Json::array();
  for (const PlanArgument& argument : launch.arguments)
    out["arguments"].push_back(json_from(argument));
  return {{"launch", out}};
}

Json json_from(const PlanFill& fill) {
  Json out = json_from(fill.memory);
  out["bytes"] = to_json(fill.bytes);
  out["width"] = fill.width;
  out["value"] = fill.value;
  return {{"fill", out}};
}

Json json_from(const PlanCopy& copy) {
  return {{"copy",
           {{"from", json_from(copy.from)},
            {"to", json_from(copy.to)},
            {"bytes", to_json(copy.bytes)}}}};
}

Json json_from(const PlanBlob& content) {
  return {{"name", content.name}, {"sha256", content.sha256}, {"bytes", content.bytes}};
}

}  // namespace

std::string_view to_string(MemoryKind kind) {
  return memory_kinds()[static_cast<std::size_t>(kind)];
}

const std::array<std::string_view, 5>& memory_kinds() {
  static constexpr std::array<std::string_view, 5> kKinds = {"input", "static", "output", "scratch",
                                                             "constant"};
  return kKinds;
}

const std::array<std::string_view, 13>& tensor_map_types() {
  static constexpr std::array<std::string_view, 13> kTypes = {
      "uint8",   "uint16",  "uint32",   "int32",       "uint64",   "int64",       "float16",
      "float32", "float64", "bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz"};
  return kTypes;
}

Json to_json(const LaunchPlan& plan) {
  Json out = {{"schema", LaunchPlan::kSchema}};
  if (!plan.triton.empty()) out["triton"] = plan.triton;
  for (const PlanChoice& one : plan.choices)
    out["choices"].push_back({{"kernel", one.kernel},
                              {"configurations", one.configurations},
                              {"chosen", one.chosen},
                              {"text", one.text}});
  out["modules"] = Json::array();
  for (const PlanModule& one : plan.modules) {
    Json item = {{"kind", one.kind == ModuleKind::kPtx ? "ptx" : "cubin"}};
    item.update(json_from(one.content));
    out["modules"].push_back(std::move(item));
  }
  out["constants"] = Json::array();
  for (const PlanBlob& one : plan.constants) out["constants"].push_back(json_from(one));
  out["scratch"] = Json::array();
  for (const PlanScratch& one : plan.scratch)
    out["scratch"].push_back({{"name", one.name},
                              {"bytes", to_json(one.bytes)},
                              {"alignment", one.alignment},
                              {"zeroed", one.zeroed}});
  out["steps"] = Json::array();
  for (const PlanStep& step : plan.steps)
    out["steps"].push_back(std::visit([](const auto& one) { return json_from(one); }, step));
  return out;
}

}  // namespace kw::task
