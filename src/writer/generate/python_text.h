// Pieces of Python source: numbers as people write them, and templates with places.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "writer/generate/plan.h"

namespace kw::writer::generate {

// A name, a number, a call, something in brackets: needs no parentheses as an operand.
bool is_atomic(std::string_view expression);

std::string python_number(double value);
std::string python_text(const ParamValue& value);
// An integer as an expression that a person may have left standing: "2048 * 2", "1 << 12".
std::string python_expression(std::int64_t value, Rng& rng);

// The key as a single name. A parameter of a nested layer has a dotted key, such as
// "out_proj.weight".
std::string without_dots(std::string name);

// The template with what `place` gives for each {name}; [[...]] is left out where it has
// names and `left_out` is true of all of them. Operands x, y and z get parentheses where they need
// them.
std::string fill(std::string_view text, const std::function<std::string(std::string_view)>& place,
                 const std::function<bool(std::string_view)>& left_out);
// How often {name} is in the text.
std::size_t count_places(std::string_view text, std::string_view name);

// Names of one scope, each given once.
class PythonNames {
 public:
  PythonNames();
  std::string fresh(const std::string& wanted);  // wanted, wanted2, ...
  bool take(const std::string& name) { return taken_.insert(name).second; }

 private:
  std::set<std::string> taken_;
};

}  // namespace kw::writer::generate
