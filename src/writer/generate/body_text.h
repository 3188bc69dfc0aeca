// The statements of forward() or run(): a plan's operators, each in the way that was chosen.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "writer/generate/operators.h"
#include "writer/generate/python_text.h"

namespace kw::writer::generate {

// The way in which one step is written.
struct Way {
  std::string layer, forward, helper;  // the same fields as in Rendering
  int index = 0;                       // in the table
  bool is_layer() const { return !layer.empty(); }
};

// All ways that are possible; with layers only for modules.
std::vector<Way> ways_of(const Step& step, bool with_layers);

// A step's way by its index in the table.
struct WantedWay {
  std::size_t step = 0;
  int index = -1;  // -1: no step has a wanted way
};
// The wanted one of the ways of a step; null: none is wanted of it, or it is not possible.
const Way* wanted_of(const std::vector<Way>& ways, const WantedWay& wanted, std::size_t step);

struct BodyOptions {
  std::function<std::string(int slot)> slot_text;
  std::function<std::string(const Step& step, const Param& param)> param_text;
  std::function<std::string(std::size_t step)> layer_text;  // "self.conv"
  // Steps that are called as one: the last of them, from the first; none: empty.
  std::function<std::size_t(std::size_t step)> last_of_call;
  std::set<std::string> kept;  // names of inputs that no other value gets
};

// Lines without indentation, the last of which returns the outputs. names: of the scope.
std::vector<std::string> body_lines(const Plan& plan, const std::vector<Way>& ways,
                                    const BodyOptions& options, PythonNames& names, Rng& rng);

}  // namespace kw::writer::generate
