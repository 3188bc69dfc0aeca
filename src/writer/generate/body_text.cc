#include "writer/generate/body_text.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace kw::writer::generate {
namespace {

bool holds(const Step& step, std::string_view when) {
  if (when.empty()) return true;
  for (const std::string& one : split(when, ' ')) {
    const bool negated = one.starts_with('!');
    if (step.is(negated ? one.substr(1) : one) == negated) return false;
  }
  return true;
}

constexpr std::string_view kFresh[] = {"out", "h", "y", "hidden", "result", "tmp", "z", "output"};

class BodyWriter {
 public:
  BodyWriter(const Plan& plan, const std::vector<Way>& ways, const BodyOptions& options,
             PythonNames& names, Rng& rng)
      : plan_(plan), ways_(ways), options_(options), names_(names), rng_(rng) {
    for (const Step& step : plan.steps) {
      for (const int operand : step.operands) ++uses_[operand];
    }
    for (const int output : plan.outputs) ++uses_[output];
    reuse_ = chance(0.6);
    nest_ = chance(0.3) ? 0.6 : 0.1;
    for (std::size_t i = 0; i < plan.slots.size(); ++i) {
      const Slot& slot = plan.slots[i];
      text_[slot.value] = options.slot_text(static_cast<int>(i));
      if (slot.role == InputRole::kInput) held_[text_[slot.value]] = slot.value;
    }
  }

  std::vector<std::string> lines() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const std::size_t last = options_.last_of_call ? options_.last_of_call(i) : i;
      step(i, last);
      i = last;
    }
    std::vector<std::string> outputs;
    for (const int output : plan_.outputs) outputs.push_back(text_[output]);
    lines_.push_back(fmt::format("return {}", fmt::join(outputs, ", ")));
    return std::move(lines_);
  }

 private:
  bool chance(double probability) { return rng_.uniform() < probability; }

  void step(std::size_t first, std::size_t last) {
    const Step& from = plan_.steps[first];
    const Step& to = plan_.steps[last];
    const Way& way = ways_[first];
    std::string text = way.forward;
    if (text.empty() || last > first) text = fmt::format("{}({{x}})", options_.layer_text(first));
    text = expanded(from, text);
    name_operands(from, text);
    std::map<std::string, std::string> locals;
    const auto place = [&](std::string_view name) { return place_text(first, locals, name); };
    const auto left_out = [&](std::string_view name) {
      const Param* param = from.param(name);
      return param != nullptr && param->is_default && chance(0.9);
    };
    std::vector<std::string> pieces = split(text, '\n');
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
      lines_.push_back(fill(pieces[i], place, left_out));
    const std::string expression = fill(pieces.back(), place, left_out);
    for (const int operand : from.operands) --uses_[operand];
    give(to, expression, last + 1 == plan_.steps.size());
  }

  // With constants that are texts in their places.
  static std::string expanded(const Step& step, std::string text) {
    for (const Param& param : step.params) {
      const auto* raw = std::get_if<std::string>(&param.value);
      if (raw == nullptr || param.is_default) continue;
      const std::string place = fmt::format("{{{}}}", param.name);
      for (std::size_t at = text.find(place); at != std::string::npos;
           at = text.find(place, at + raw->size()))
        text.replace(at, place.size(), *raw);
    }
    return text;
  }

  // Operands that a way needs more than once get a name.
  void name_operands(const Step& step, const std::string& text) {
    constexpr std::string_view kPlaces[] = {"x", "y", "z"};
    for (std::size_t i = 0; i < step.operands.size() && i < 3; ++i) {
      const int value = step.operands[i];
      const bool name_needed = count_places(text, kPlaces[i]) > 1 || uses_[value] > 1;
      if (name_needed && !is_name(text_[value])) assign(value, text_[value]);
    }
  }
  static bool is_name(const std::string& text) {
    return text.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
               ".") == std::string::npos;
  }

  std::string place_text(std::size_t index, std::map<std::string, std::string>& locals,
                         std::string_view name) {
    const Step& step = plan_.steps[index];
    if (name.starts_with("t:")) {
      std::string& local = locals[std::string(name)];
      if (local.empty()) local = names_.fresh(std::string(name.substr(2)));
      return local;
    }
    const std::size_t operand = name == "x" ? 0 : name == "y" ? 1 : name == "z" ? 2 : 9;
    if (operand < step.operands.size()) return text_[step.operands[operand]];
    if (name == "m") {
      const std::string layer = options_.layer_text(index);
      return layer.substr(layer.find('.') + 1);
    }
    for (const int slot : step.slots) {
      if (plan_.slots[static_cast<std::size_t>(slot)].suffix == name)
        return options_.slot_text(slot);
    }
    if (const Param* param = step.param(name)) {
      const auto* raw = std::get_if<std::string>(&param->value);
      return raw != nullptr ? *raw : options_.param_text(step, *param);
    }
    return fmt::format("{{{}}}", name);
  }

  void give(const Step& step, const std::string& expression, bool is_last) {
    if (step.results.size() > 1) {
      std::vector<std::string> targets;
      for (const int result : step.results) {
        targets.push_back(names_.fresh(plan_.values[static_cast<std::size_t>(result)].hint));
        text_[result] = targets.back();
      }
      lines_.push_back(fmt::format("{} = {}", fmt::join(targets, ", "), expression));
      return;
    }
    const int value = step.results[0];
    text_[value] = expression;
    const bool single = plan_.outputs.size() == 1;
    if (is_last && single && chance(0.5)) return;
    if (uses_[value] == 1 && expression.size() < 60 && chance(nest_)) return;
    assign(value, expression);
  }

  void assign(int value, const std::string& expression) {
    std::string name;
    for (auto& [held, by] : held_) {
      const bool still_needed = uses_[by] > 0 && by != value;
      if (!reuse_ || still_needed || options_.kept.contains(held) || names_in(expression, held))
        continue;
      name = held;
      if (held == "x") break;
    }
    if (name.empty()) name = names_.fresh(std::string(kFresh[rng_.below(std::size(kFresh))]));
    lines_.push_back(fmt::format("{} = {}", name, expression));
    text_[value] = name;
    held_[name] = value;
  }
  // Whether another value's pending text would change with the name.
  bool names_in(const std::string& expression, const std::string& name) {
    for (const auto& [value, text] : text_) {
      if (uses_[value] > 0 && text != expression && !is_name(text) &&
          text.find(name) != std::string::npos)
        return true;
    }
    return false;
  }

  const Plan& plan_;
  const std::vector<Way>& ways_;
  const BodyOptions& options_;
  PythonNames& names_;
  Rng& rng_;
  std::map<int, int> uses_;          // that are to come, of a value
  std::map<int, std::string> text_;  // of a value
  std::map<std::string, int> held_;  // which value a local variable has
  std::vector<std::string> lines_;
  bool reuse_ = false;
  double nest_ = 0;
};

}  // namespace

std::vector<Way> ways_of(const Step& step, bool with_layers) {
  std::vector<Way> out;
  for (std::size_t i = 0; i < step.spec->ways.size(); ++i) {
    const Rendering& one = step.spec->ways[i];
    if (!one.layer.empty() && !with_layers) continue;
    if (holds(step, one.when))
      out.push_back({std::string(one.layer), std::string(one.forward), std::string(one.helper),
                     static_cast<int>(i)});
  }
  return out;
}

const Way* wanted_of(const std::vector<Way>& ways, const WantedWay& wanted, std::size_t step) {
  if (wanted.index < 0 || wanted.step != step) return nullptr;
  for (const Way& way : ways) {
    if (way.index == wanted.index) return &way;
  }
  return nullptr;
}

std::vector<std::string> body_lines(const Plan& plan, const std::vector<Way>& ways,
                                    const BodyOptions& options, PythonNames& names, Rng& rng) {
  return BodyWriter(plan, ways, options, names, rng).lines();
}

}  // namespace kw::writer::generate
