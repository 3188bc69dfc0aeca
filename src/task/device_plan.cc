#include "task/device_plan.h"

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "task/resolved_plan.h"
#include "text/names.h"

namespace kw::task {
namespace {

using tensor::DType;

// What a host scalar is passed as.
DType passed_as(DType dtype) {
  return is_floating(dtype) && size_of(dtype) < sizeof(float) ? DType::kFloat32 : dtype;
}

class Arguments {
 public:
  Arguments(const Candidate& candidate, const Signature& signature) : signature_(signature) {
    add(signature.inputs, MemoryKind::kInput);
    add(signature.statics, MemoryKind::kStatic);
    add(signature.outputs, MemoryKind::kOutput);
    for (const auto& axis : signature.axes) {
      auto value = LaunchExpression::parse(axis.first);
      if (value)
        in_order_.emplace_back(PlanScalar{DType::kInt64, std::move(*value)});
      else
        unnamed_ = axis.first;
    }
    for (std::size_t i = 0; i < candidate.scratch.size(); ++i) {
      const std::string& name = candidate.scratch[i].name;
      if (!by_name_.emplace(name, PlanMemory{MemoryKind::kScratch, i, {}}).second)
        clash_ = fmt::format("scratch \"{}\": the name is taken", name);
    }
  }

  Status check() const {
    if (clash_.empty()) return {};
    return fail(ErrorCode::kInvalidArgument, clash_);
  }

  Result<std::vector<PlanArgument>> in_order(const std::string& where) const {
    if (unnamed_.empty()) return in_order_;
    return fail(ErrorCode::kInvalidArgument,
                "{}.arguments: missing, and axis \"{}\" has a name that expressions cannot use",
                where, printable(unnamed_, 80));
  }

  Result<PlanArgument> named(const std::string& name, const std::string& where) const {
    if (auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [each, argument] : by_name_) known.push_back(each);
    for (const auto& [axis, value] : axis_values(signature_))
      if (axis == name)
        return fail(ErrorCode::kInvalidArgument,
                    "{}: \"{}\" is an axis: write {{\"int32\": \"{}\"}} or {{\"int64\": \"{}\"}}",
                    where, name, name, name);
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no input, output or scratch{}", where,
                printable(name, 80), text::suggestion(name, known));
  }

 private:
  void add(const std::vector<Argument>& list, MemoryKind kind) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      PlanArgument argument = PlanMemory{kind, i, {}};
      if (list[i].role == Role::kScalar)
        argument = PlanScalar{passed_as(list[i].dtype), HostScalar{i}};
      by_name_.emplace(list[i].name, argument);
      in_order_.push_back(std::move(argument));
    }
  }

  const Signature& signature_;
  std::map<std::string, PlanArgument> by_name_;
  std::vector<PlanArgument> in_order_;
  std::string clash_;
  std::string unnamed_;  // an axis that in_order_ lacks
};

Result<PlanLaunch> plan_launch(const LaunchDescriptor& launch, const Arguments& arguments,
                               const std::string& where) {
  PlanLaunch out;
  out.function = launch.kernel;
  out.grid = launch.grid;
  out.block = launch.block;
  out.cluster = launch.cluster;
  out.shared_bytes = launch.shared_memory;
  out.cooperative = launch.cooperative;
  out.dependent = launch.dependent;
  if (!launch.arguments) {
    KW_TRY(out.arguments, arguments.in_order(where));
    return out;
  }
  for (const LaunchArgument& argument : *launch.arguments) {
    if (const auto* integer = std::get_if<IntegerArgument>(&argument)) {
      out.arguments.emplace_back(
          PlanScalar{integer->bits == 32 ? DType::kInt32 : DType::kInt64, integer->value});
    } else if (const auto* number = std::get_if<FloatArgument>(&argument)) {
      out.arguments.emplace_back(
          PlanScalar{number->bits == 32 ? DType::kFloat32 : DType::kFloat64, number->value});
    } else {
      KW_TRY(PlanArgument one,
             arguments.named(std::get<TensorArgument>(argument).name,
                             fmt::format("{}.arguments[{}]", where, out.arguments.size())));
      out.arguments.push_back(std::move(one));
    }
  }
  return out;
}

}  // namespace

Result<LaunchPlan> device_plan(const Candidate& candidate, const Signature& signature,
                               PlanModule module) {
  if (candidate.launches.empty())
    return fail(ErrorCode::kInvalidArgument,
                "no launch: say which kernels run in a comment, such as // launch: {{\"kernel\": "
                "\"relu\", \"grid\": [\"ceil_div(n, 256)\"], \"block\": [256]}}");
  const Arguments arguments(candidate, signature);
  KW_TRY_STATUS(arguments.check());
  LaunchPlan out;
  out.modules.push_back(std::move(module));
  for (const ScratchDescriptor& one : candidate.scratch)
    out.scratch.push_back({one.name, one.bytes, 256, one.zeroed});
  for (std::size_t i = 0; i < candidate.launches.size(); ++i) {
    KW_TRY(PlanLaunch one,
           plan_launch(candidate.launches[i], arguments, fmt::format("launches[{}]", i)));
    out.steps.emplace_back(std::move(one));
  }
  return out;
}

}  // namespace kw::task
