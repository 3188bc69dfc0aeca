#include "writer/generate/definition_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/generate/body_text.h"
#include "writer/generate/docstrings.h"
#include "writer/generate/sizes.h"

namespace kw::writer::generate {
namespace {

using tensor::DType;

std::string uuid(Rng& rng) {
  const std::uint64_t a = rng.next(), b = rng.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xffffU,
                     a & 0xfffU, 0x8000U | ((b >> 48U) & 0x3fffU), b & 0xffffffffffffU);
}

class DefinitionWriter {
 public:
  DefinitionWriter(const Plan& plan, Rng& rng, const WantedWay& wanted)
      : plan_(plan), rng_(rng), wanted_(wanted) {}

  DefinitionText write(const std::string& name, const std::string& family) {
    definition().name = name;
    definition().op_type = family;
    definition().description = words_of(plan_) + ".";
    out_.policy.family = family;
    const std::set<std::string> open = open_axes();
    for (const Axis& axis : plan_.axes) add_axis(axis.name, axis.n, !open.contains(axis.name));
    for (std::size_t i = 0; i < plan_.slots.size(); ++i)
      if (plan_.slots[i].role == InputRole::kInput) add_input(static_cast<int>(i));
    const bool given_once = chance(0.7);
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      if (plan_.slots[i].role == InputRole::kInput) continue;
      add_input(static_cast<int>(i));
      if (given_once) out_.policy.statics.push_back(definition().inputs.back().name);
    }
    for (const int output : plan_.outputs) add_output(output);
    write_reference();
    write_steps();
    add_workloads();
    return std::move(out_);
  }

 private:
  bool chance(double probability) { return rng_.uniform() < probability; }
  task::Definition& definition() { return out_.definition; }

  template <typename See>
  void for_each_size(const See& see) const {
    for (const Step& step : plan_.steps) {
      for (const Param& param : step.params) {
        if (const auto* dim = std::get_if<Dim>(&param.value)) see(*dim);
      }
    }
  }

  // Of the axes that may be open some, one at least, and those with a small size.
  std::set<std::string> open_axes() {
    std::set<std::string> out = variable_axes(plan_);
    for (const Axis& axis : plan_.axes) {
      if (out.contains(axis.name) && axis.small == 0 && chance(0.4) && out.size() > 1)
        out.erase(axis.name);
    }
    return out;
  }

  void add_axis(const std::string& name, std::int64_t n, bool fixed) {
    task::Axis made;
    made.name = name;
    if (fixed) made.value = n;
    definition().axes.push_back(made);
    values_[name] = n;
    names_.take(name);
  }

  // The axis of a size: its own, or one for what is computed from others.
  std::string axis_of(const Dim& dim) {
    const std::string text = dim.size.python();
    for (const auto& [name, size] : known_) {
      if (size == text) return name;
    }
    std::string name;
    const auto symbols = dim.size.symbols();
    if (plan_.axis(text) != nullptr) {
      name = text;
    } else {
      name = names_.fresh(name_of(dim));
      const bool fixed = std::all_of(symbols.begin(), symbols.end(),
                                     [&](const std::string& one) { return is_fixed(one); });
      add_axis(name, dim.n, fixed);
      if (!fixed) {
        definition().constraints.push_back(fmt::format("{} == {}", name, text));
        derived_.emplace_back(name, dim.size);
      }
    }
    known_.emplace_back(name, text);
    return name;
  }
  static std::string name_of(const Dim& dim) {
    const auto symbols = dim.size.symbols();
    if (symbols.empty()) return fmt::format("size_{}", dim.n);
    const std::vector<IntTerm> terms = dim.size.sum();
    std::vector<std::string> parts;
    for (const IntFactor& factor : terms[0].factors) parts.push_back(factor.symbol);
    const bool is_product = terms.size() == 1 && std::count(parts.begin(), parts.end(), "") == 0;
    if (!is_product) return *symbols.begin() + "_out";
    if (terms[0].coefficient != 1) parts.push_back(std::to_string(terms[0].coefficient));
    return fmt::format("{}", fmt::join(parts, "_x_"));
  }
  bool is_fixed(const std::string& name) {
    for (const task::Axis& axis : definition().axes) {
      if (axis.name == name) return axis.value.has_value();
    }
    return true;
  }

  std::vector<std::string> shape_of(const Value& value) {
    std::vector<std::string> out;
    for (const Dim& dim : value.shape) out.push_back(axis_of(dim));
    return out;
  }

  void add_input(int index) {
    const Slot& slot = plan_.slots[static_cast<std::size_t>(index)];
    const Value& value = plan_.values[static_cast<std::size_t>(slot.value)];
    task::TensorSpec made;
    made.name = names_.fresh(without_dots(slot.suffix));
    made.shape = shape_of(value);
    made.dtype = value.dtype;
    names_of_slots_[index] = made.name;
    task::InputPolicy policy;
    const auto set = [&](task::Distribution distribution, double low, double high) {
      policy.distribution = distribution;
      policy.low = low;
      policy.high = high;
      out_.policy.inputs[made.name] = policy;
    };
    if (slot.role == InputRole::kStatic) {
      switch (slot.start) {
        case Start::kWeight:
          set(task::Distribution::kNormal, 0, std::stod(fmt::format("{:.2g}", value.high / 3)));
          break;
        case Start::kZeros:
          set(task::Distribution::kNormal, 0, 0.5);
          break;
        case Start::kOnes:
        case Start::kVariance:
          set(task::Distribution::kUniform, 0.5, 1.5);
          break;
      }
    } else if (slot.filling == Filling::kUniform) {
      set(task::Distribution::kUniform, 0, 1);
    } else if (slot.filling == Filling::kIndices) {
      set(task::Distribution::kIntegers, 0, static_cast<double>(slot.below - 1));
    } else if (slot.filling == Filling::kWhole) {
      set(task::Distribution::kIntegers, static_cast<double>(slot.low),
          static_cast<double>(slot.high));
    } else if (slot.filling == Filling::kProbabilities) {
      policy.distribution = task::Distribution::kProbabilities;
      out_.policy.inputs[made.name] = policy;
    }
    definition().inputs.push_back(std::move(made));
    out_.slots.push_back(index);
  }

  void add_output(int index) {
    const Value& value = plan_.values[static_cast<std::size_t>(index)];
    task::TensorSpec made;
    made.name = names_.fresh(plan_.outputs.size() == 1 ? "out" : value.hint);
    made.shape = shape_of(value);
    made.dtype = value.dtype;
    definition().outputs.push_back(std::move(made));
  }

  void write_reference() {
    std::vector<Way> ways;
    for (const Step& step : plan_.steps) {
      const std::vector<Way> all = ways_of(step, false);
      const Way* wanted = wanted_of(all, wanted_, ways.size());
      ways.push_back(wanted != nullptr ? *wanted : all[rng_.below(all.size())]);
      out_.ways.push_back(fmt::format("{}/{}", step.spec->name, ways.back().index));
    }
    PythonNames locals;
    std::vector<std::string> arguments;
    for (const task::TensorSpec& input : definition().inputs) {
      locals.take(input.name);
      arguments.push_back(input.name);
    }
    const bool constants_named = chance(0.25);
    std::string globals;
    std::map<std::string, std::string> named;
    BodyOptions options;
    options.slot_text = [&](int index) { return names_of_slots_.at(index); };
    options.param_text = [&](const Step& step, const Param& param) -> std::string {
      std::string text = python_text(param.value);
      if (const auto* dim = std::get_if<Dim>(&param.value)) return size_text(*dim);
      if (!constants_named || std::holds_alternative<bool>(param.value)) return text;
      std::string& name = named[fmt::format("{} {}", static_cast<const void*>(&step), param.name)];
      if (name.empty()) {
        std::string upper = param.name;
        for (char& c : upper)
          if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
        name = locals.fresh(upper);
        globals += fmt::format("{} = {}\n", name, text);
      }
      return name;
    };
    for_each_size([&](const Dim& dim) {
      const std::string text = size_text(dim);
      if (const std::size_t dot = text.find(".shape["); dot != std::string::npos)
        options.kept.insert(text.substr(0, dot));
    });
    const std::vector<std::string> lines = body_lines(plan_, ways, options, locals, rng_);
    std::string body;
    for (const std::string& line : lines) body += "    " + line + "\n";
    std::string source = "import torch\n";
    if (body.find("math.") != std::string::npos) source = "import math\n\n" + source;
    if (body.find("F.") != std::string::npos) source += "import torch.nn.functional as F\n";
    if (!globals.empty()) source += "\n" + globals;
    definition().reference =
        source + fmt::format("\n\ndef run({}):\n", fmt::join(arguments, ", ")) + body;
  }

  void write_steps() {
    std::map<int, std::string> names;
    for (const auto& [slot, name] : names_of_slots_)
      names[plan_.slots[static_cast<std::size_t>(slot)].value] = fmt::format("`{}`", name);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i)
      names[plan_.outputs[i]] = fmt::format("`{}`", definition().outputs[i].name);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      std::vector<std::string> results, operands, parameters;
      for (std::size_t k = 0; k < step.results.size(); ++k) {
        std::string& name = names[step.results[k]];
        if (name.empty()) name = fmt::format("h{}{}", i + 1, k == 0 ? "" : "b");
        results.push_back(name);
      }
      for (const int operand : step.operands) operands.push_back(names[operand]);
      for (const int slot : step.slots)
        parameters.push_back(names[plan_.slots[static_cast<std::size_t>(slot)].value]);
      out_.steps +=
          fmt::format("{}. {} = {} of {}{}{}\n", i + 1, fmt::join(results, ", "), words_of(step),
                      fmt::join(operands, " and "), parameters.empty() ? "" : ", with ",
                      fmt::join(parameters, " and "));
    }
  }

  // A size as the reference finds it: of an input's shape where it is variable.
  std::string size_text(const Dim& dim) {
    const std::string text = dim.size.python();
    const auto symbols = dim.size.symbols();
    const bool fixed = std::all_of(symbols.begin(), symbols.end(),
                                   [&](const std::string& one) { return is_fixed(one); });
    if (fixed) return std::to_string(dim.n);
    for (const task::TensorSpec& input : definition().inputs) {
      if (!input.shape) continue;
      const std::vector<std::string>& shape = *input.shape;
      const auto found = std::find(shape.begin(), shape.end(), text);
      if (found != shape.end())
        return fmt::format("{}.shape[{}]", input.name, found - shape.begin());
    }
    return std::to_string(dim.n);
  }

  void add_workloads() {
    task::Workload main;
    main.uuid = uuid(rng_);
    std::set<std::string> open;
    for (const task::Axis& axis : definition().axes) {
      if (axis.value) continue;
      main.axes.emplace_back(axis.name, values_[axis.name]);
      if (plan_.axis(axis.name) != nullptr) open.insert(axis.name);
    }
    for (const task::TensorSpec& input : definition().inputs)
      main.inputs.emplace_back(input.name, task::RandomInput{});
    out_.workloads.push_back(main);
    out_.policy.workloads[main.uuid].label = "main";
    const bool large = has_small_sizes(plan_);
    if (large) out_.policy.workloads[main.uuid].targets = {task::Target::kCpu, task::Target::kCuda};
    constexpr const char* kLabels[] = {"odd sizes", "other sizes"};
    const std::vector<Sizes> others = other_sizes(plan_, open);
    for (std::size_t i = 0; i < others.size(); ++i) {
      task::Workload other = workload_at(main, others[i]);
      task::WorkloadPolicy& policy = out_.policy.workloads[other.uuid];
      policy.label = kLabels[i];
      policy.timed = false;
      if (large)
        policy.targets = {task::Target::kCpu, task::Target::kCuda, task::Target::kInterpret};
      out_.workloads.push_back(std::move(other));
    }
  }

  task::Workload workload_at(const task::Workload& main, const Sizes& sizes) {
    task::Workload out = main;
    out.uuid = uuid(rng_);
    std::map<std::string, std::int64_t> values = values_;
    for (const auto& [name, n] : sizes) values[name] = n;
    for (const auto& [name, size] : derived_) {
      const Result<std::int64_t> n = size.evaluate(values);
      KW_CHECK(n.has_value());
      values[name] = *n;
    }
    for (auto& [name, n] : out.axes) n = values[name];
    return out;
  }

  const Plan& plan_;
  Rng& rng_;
  const WantedWay wanted_;
  DefinitionText out_;
  PythonNames names_;
  std::map<std::string, std::int64_t> values_;
  std::vector<std::pair<std::string, std::string>> known_;  // axis and its size
  std::vector<std::pair<std::string, IntExpr>> derived_;
  std::map<int, std::string> names_of_slots_;
};

}  // namespace

DefinitionText definition_text(const Plan& plan, const std::string& name, const std::string& family,
                               Rng& rng, const WantedWay& wanted) {
  return DefinitionWriter(plan, rng, wanted).write(name, family);
}

}  // namespace kw::writer::generate
