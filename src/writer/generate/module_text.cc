#include "writer/generate/module_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/generate/body_text.h"
#include "writer/generate/constants.h"
#include "writer/generate/docstrings.h"

namespace kw::writer::generate {
namespace {

class ModuleWriter {
 public:
  ModuleWriter(const Plan& plan, Rng& rng, const WantedWay& wanted)
      : plan_(plan), rng_(rng), wanted_(wanted), constants_(plan, names_, attributes_, rng) {
    for (const char* name : {"add_module", "apply", "buffers", "children", "double", "eval", "half",
                             "modules", "parameters", "train", "type", "to", "state_dict"})
      attributes_.take(name);
  }

  ModuleText write() {
    name_inputs();
    choose_ways();
    make_layers();
    make_parameters();
    std::vector<std::string> body = forward_body();
    const std::string inputs = get_inputs();
    if (chance(0.12)) constants_.add_unused();
    constants_.finish();
    out_.constants = constants_.values;
    out_.init_parameters = constants_.init_parameters;
    assemble(body, inputs);
    for (const Own& one : own_)
      if (!one.buffer) out_.state.push_back({one.slot, one.key});
    for (const Own& one : own_)
      if (one.buffer) out_.state.push_back({one.slot, one.key});
    for (const ModuleText::State& one : of_layers_) out_.state.push_back(one);
    return std::move(out_);
  }

 private:
  struct Own {
    int slot = 0;
    std::string key;
    bool buffer = false;
  };

  bool chance(double probability) { return rng_.uniform() < probability; }
  const Slot& slot(int index) const { return plan_.slots[static_cast<std::size_t>(index)]; }
  const Value& value_of(const Slot& slot) const {
    return plan_.values[static_cast<std::size_t>(slot.value)];
  }

  void name_inputs() {
    slot_texts_.resize(plan_.slots.size());
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      if (plan_.slots[i].role != InputRole::kInput) continue;
      slot_texts_[i] = names_.fresh(plan_.slots[i].suffix);
      out_.input_names.push_back(slot_texts_[i]);
    }
  }

  void choose_ways() {
    for (const Step& step : plan_.steps) {
      const std::vector<Way> all = ways_of(step, true);
      std::vector<Way> layers, others;
      for (const Way& way : all) (way.is_layer() ? layers : others).push_back(way);
      const bool layer = !layers.empty() && (others.empty() || chance(0.54));
      const std::vector<Way>& from = layer ? layers : others;
      const Way* wanted = wanted_of(all, wanted_, ways_.size());
      ways_.push_back(wanted != nullptr ? *wanted : from[rng_.below(from.size())]);
      out_.ways.push_back(fmt::format("{}/{}", step.spec->name, ways_.back().index));
    }
    for (std::size_t i = 0; i < ways_.size(); ++i) last_of_call_.push_back(i);
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      std::size_t end = i;
      while (end + 1 < ways_.size() && is_plain(i) && is_plain(end + 1) && follows(end + 1)) ++end;
      if (end > i && chance(0.6)) {
        last_of_call_[i] = end;
        i = end;
      }
    }
  }
  // A call of a layer with one operand.
  bool is_plain(std::size_t i) const {
    return ways_[i].is_layer() && ways_[i].forward.empty() && plan_.steps[i].operands.size() == 1 &&
           plan_.steps[i].results.size() == 1;
  }
  // Its operand is what the step before made, for it alone.
  bool follows(std::size_t i) const {
    const int made = plan_.steps[i - 1].results[0];
    if (plan_.steps[i].operands[0] != made) return false;
    std::ptrdiff_t uses = std::count(plan_.outputs.begin(), plan_.outputs.end(), made);
    for (const Step& step : plan_.steps)
      uses += std::count(step.operands.begin(), step.operands.end(), made);
    return uses == 1;
  }

  std::string constructor(std::size_t i) {
    const Step& step = plan_.steps[i];
    if (!ways_[i].helper.empty() &&
        std::find(helpers_.begin(), helpers_.end(), ways_[i].helper) == helpers_.end())
      helpers_.push_back(ways_[i].helper);
    const auto place = [&](std::string_view name) { return init_place(step, name); };
    const auto left_out = [&](std::string_view name) {
      const Param* param = step.param(name);
      return param != nullptr && param->is_default && chance(0.93);
    };
    return fill(ways_[i].layer, place, left_out);
  }
  std::string init_place(const Step& step, std::string_view name) {
    const Param* param = step.param(name);
    if (param == nullptr) return fmt::format("{{{}}}", name);
    const auto* raw = std::get_if<std::string>(&param->value);
    return raw != nullptr ? *raw : constants_.of_param(step, *param, Place::kInit);
  }

  static std::string layer_name(const Step& step) {
    return std::string(step.spec->attribute.empty() ? step.spec->name : step.spec->attribute);
  }

  void make_layers() {
    layer_texts_.resize(plan_.steps.size());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!ways_[i].is_layer()) continue;
      const std::size_t last = last_of_call_[i];
      if (last > i) {
        constexpr std::string_view kNames[] = {"net", "layers", "block", "model", "seq"};
        const std::string name = attributes_.fresh(std::string(kNames[rng_.below(5)]));
        init_.push_back(fmt::format("self.{} = nn.Sequential(", name));
        for (std::size_t j = i; j <= last; ++j) {
          init_.push_back(fmt::format("    {},", constructor(j)));
          add_state(j, fmt::format("{}.{}", name, j - i));
        }
        init_.emplace_back(")");
        layer_texts_[i] = "self." + name;
        i = last;
        continue;
      }
      const std::string name = attributes_.fresh(layer_name(plan_.steps[i]));
      init_.push_back(fmt::format("self.{} = {}", name, constructor(i)));
      layer_texts_[i] = "self." + name;
      add_state(i, name);
    }
  }
  void add_state(std::size_t step, const std::string& layer) {
    for (const int one : plan_.steps[step].slots)
      of_layers_.push_back({one, fmt::format("{}.{}", layer, slot(one).suffix)});
  }

  void make_parameters() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (ways_[i].is_layer()) continue;
      for (const int one : plan_.steps[i].slots) {
        const std::string name = attributes_.fresh(without_dots(slot(one).suffix));
        slot_texts_[static_cast<std::size_t>(one)] = "self." + name;
        const std::string made = initial(slot(one));
        if (slot(one).buffer)
          init_.push_back(fmt::format("self.register_buffer(\"{}\", {})", name, made));
        else if (chance(0.06))
          init_.push_back(
              fmt::format("self.register_parameter(\"{}\", nn.Parameter({}))", name, made));
        else
          init_.push_back(fmt::format("self.{} = nn.Parameter({})", name, made));
        own_.push_back({one, name, slot(one).buffer});
      }
    }
  }

  std::string dims_text(const Dims& shape, Place place) {
    std::vector<std::string> out;
    for (const Dim& dim : shape) out.push_back(constants_.of_dim(dim, place));
    return fmt::format("{}", fmt::join(out, ", "));
  }

  std::string initial(const Slot& slot) {
    const std::string shape = dims_text(value_of(slot).shape, Place::kInit);
    switch (slot.start) {
      case Start::kOnes:
        return chance(0.7) ? fmt::format("torch.ones({})", shape)
                           : fmt::format("torch.rand({}) + 0.5", shape);
      case Start::kZeros:
        return chance(0.6) ? fmt::format("torch.zeros({})", shape)
                           : fmt::format("torch.randn({}) * 0.1", shape);
      case Start::kVariance:
        return chance(0.5) ? fmt::format("torch.ones({})", shape)
                           : fmt::format("torch.rand({}) + 0.5", shape);
      case Start::kWeight:
        break;
    }
    const double scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, slot.fan.n)));
    const std::string rounded = fmt::format("{:.2g}", scale);
    if (scale == 1) return fmt::format("torch.randn({})", shape);
    const double way = rng_.uniform();
    if (way < 0.5) return fmt::format("torch.randn({}) * {}", shape, rounded);
    if (way < 0.65) return fmt::format("torch.empty({}).normal_(0, {})", shape, rounded);
    if (way < 0.8) return fmt::format("torch.empty({0}).uniform_(-{1}, {1})", shape, rounded);
    return fmt::format("torch.randn({}) / math.sqrt({})", shape, slot.fan.n);
  }

  std::vector<std::string> forward_body() {
    BodyOptions options;
    options.slot_text = [&](int index) { return slot_texts_[static_cast<std::size_t>(index)]; };
    options.param_text = [&](const Step& step, const Param& param) {
      return constants_.of_param(step, param, Place::kForward);
    };
    options.layer_text = [&](std::size_t step) { return layer_texts_[step]; };
    options.last_of_call = [&](std::size_t step) { return last_of_call_[step]; };
    return body_lines(plan_, ways_, options, names_, rng_);
  }

  // In the plan's type where that is another than torch's usual one.
  std::string input_text(const Slot& slot) {
    const tensor::DType dtype = value_of(slot).dtype;
    std::string made = single_text(slot);
    if (dtype != tensor::DType::kFloat16 && dtype != tensor::DType::kBFloat16) return made;
    if (!is_atomic(made)) made = "(" + made + ")";
    const bool plain = slot.filling == Filling::kNormal || slot.filling == Filling::kUniform;
    if (plain && chance(0.4))
      return fmt::format("{}, dtype={})", made.substr(0, made.size() - 1), torch_name(dtype));
    return made + cast_text(dtype);
  }
  static std::string torch_name(tensor::DType dtype) {
    return fmt::format("torch.{}", tensor::to_string(dtype));
  }
  std::string cast_text(tensor::DType dtype) {
    if (chance(0.5)) return dtype == tensor::DType::kFloat16 ? ".half()" : ".bfloat16()";
    return fmt::format(".to({})", torch_name(dtype));
  }
  // The statement that gives the model's parameters the plan's type; empty: they have it.
  std::string model_cast() {
    const bool single = plan_.dtype == tensor::DType::kFloat32;
    const bool parameters =
        std::any_of(plan_.slots.begin(), plan_.slots.end(),
                    [](const Slot& one) { return one.role == InputRole::kStatic; });
    return single || !parameters ? "" : "self" + cast_text(plan_.dtype);
  }

  std::string single_text(const Slot& slot) {
    const Value& value = value_of(slot);
    const std::string shape = dims_text(value.shape, Place::kInputs);
    const std::string tuple =
        value.shape.empty() ? "()"
                            : fmt::format("({}{})", shape, value.shape.size() == 1 ? "," : "");
    const std::string plain = value.shape.empty() ? "()" : shape;
    switch (slot.filling) {
      case Filling::kNormal:
        return fmt::format("torch.randn({})", chance(0.9) ? plain : tuple);
      case Filling::kUniform:
        return fmt::format("torch.rand({})", plain);
      case Filling::kProbabilities:
        return fmt::format("torch.softmax(torch.randn({}), dim=-1)", plain);
      case Filling::kIndices:
        return fmt::format("torch.randint({}{}, {})", chance(0.7) ? "0, " : "",
                           constants_.of_dim(slot.below_dim, Place::kInputs), tuple);
      case Filling::kWhole:
        return fmt::format("torch.randint({}, {}, {}{}){}", slot.low, slot.high + 1, tuple,
                           value.dtype == tensor::DType::kInt32  ? ", dtype=torch.int32"
                           : value.dtype == tensor::DType::kInt8 ? ", dtype=torch.int8"
                                                                 : "",
                           value.dtype == tensor::DType::kFloat32 ? ".float()" : "");
      case Filling::kSigns:
        return chance(0.5) ? fmt::format("torch.randint(0, 2, {}).float() * 2 - 1", tuple)
                           : fmt::format("torch.sign(torch.randn({}))", plain);
      case Filling::kMask:
        return chance(0.5) ? fmt::format("torch.rand({}) > 0.5", plain)
                           : fmt::format("torch.randint(0, 2, {}).bool()", tuple);
      case Filling::kCausalMask:
        return fmt::format("torch.ones({}).tril().bool()", plain);
    }
    return {};
  }

  std::string get_inputs() {
    std::string out = "def get_inputs():\n";
    std::vector<std::string> made;
    const bool named = chance(0.4);
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      if (plan_.slots[i].role != InputRole::kInput) continue;
      const std::string text = input_text(plan_.slots[i]);
      if (named) {
        out += fmt::format("    {} = {}\n", slot_texts_[i], text);
        made.push_back(slot_texts_[i]);
      } else {
        made.push_back(text);
      }
    }
    return out + fmt::format("    return [{}]\n", fmt::join(made, ", "));
  }

  void assemble(const std::vector<std::string>& body, const std::string& inputs) {
    std::string model = "class Model(nn.Module):\n";
    model += class_docstring(plan_, constants_.words, rng_);
    std::string parameters = "self";
    for (const std::string& one : constants_.parameters) parameters += ", " + one;
    model += fmt::format("    def __init__({}):\n", parameters);
    model += init_docstring(constants_.words, rng_);
    model +=
        chance(0.5) ? "        super().__init__()\n" : "        super(Model, self).__init__()\n";
    std::vector<std::string> lines = init_;
    lines.insert(chance(0.5) ? lines.begin() : lines.end(), constants_.attributes.begin(),
                 constants_.attributes.end());
    if (const std::string cast = model_cast(); !cast.empty()) lines.push_back(cast);
    for (const std::string& line : lines) model += "        " + line + "\n";
    const bool annotated = chance(0.3);
    std::string arguments = "self";
    for (const std::string& name : out_.input_names)
      arguments += ", " + name + (annotated ? ": torch.Tensor" : "");
    model += fmt::format("\n    def forward({}){}:\n", arguments,
                         annotated && plan_.outputs.size() == 1 ? " -> torch.Tensor" : "");
    model += forward_docstring(plan_, out_.input_names, rng_);
    for (const std::string& line : body) model += "        " + line + "\n";

    std::string constants;
    for (const std::string& line : constants_.globals) constants += line + "\n";
    std::string helpers;
    for (const std::string& helper : helpers_) helpers += helper + "\n\n";
    const std::string code = model + inputs;
    const bool functional = code.find("F.") != std::string::npos || chance(0.15);
    const bool math = (code + helpers + constants).find("math.") != std::string::npos;
    std::string source = math && chance(0.5) ? "import math\n\n" : "";
    const bool math_late = math && source.empty();
    source += "import torch\nimport torch.nn as nn\n";
    if (functional) source += "import torch.nn.functional as F\n";
    if (math_late) source += "import math\n";
    if (chance(0.05)) source += "import numpy as np\n";
    const std::string gap = chance(0.6) ? "\n\n" : "\n";
    // Globals that the class reads in its bodies may stand below it, as they do in many
    // collections.
    const bool below = chance(0.5);
    if (!below && !constants.empty()) source += "\n" + constants;
    source += gap + helpers + model + gap;
    if (below && !constants.empty()) source += constants + gap;
    source += inputs + gap + get_init_inputs();
    out_.source = std::move(source);
  }

  std::string get_init_inputs() {
    std::string out = "def get_init_inputs():\n    return [";
    out += fmt::format("{}]", fmt::join(constants_.arguments, ", "));
    if (constants_.arguments.empty() && chance(0.3))
      out += "  # No special initialization inputs needed";
    return out + "\n";
  }

  const Plan& plan_;
  Rng& rng_;
  const WantedWay wanted_;
  PythonNames names_;  // of globals and of forward's variables, which would hide them
  PythonNames attributes_;
  Constants constants_;
  ModuleText out_;
  std::vector<Way> ways_;
  std::vector<std::size_t> last_of_call_;
  std::vector<std::string> slot_texts_, layer_texts_, init_, helpers_;
  std::vector<Own> own_;
  std::vector<ModuleText::State> of_layers_;
};

}  // namespace

ModuleText module_text(const Plan& plan, Rng& rng, const WantedWay& wanted) {
  return ModuleWriter(plan, rng, wanted).write();
}

}  // namespace kw::writer::generate
