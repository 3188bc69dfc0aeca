// The numbers of a module: where each is written, and what it is called.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "writer/generate/argument_words.h"
#include "writer/generate/operators.h"
#include "writer/generate/python_text.h"

namespace kw::writer::generate {

// Where a number is needed.
enum class Place { kInit, kForward, kInputs };

// Gives each number one style for the whole module: written in place, a global, or an argument of
// the constructor. Asking for a text makes the global, the argument or the attribute that it needs.
class Constants {
 public:
  Constants(const Plan& plan, PythonNames& globals, PythonNames& attributes, Rng& rng);

  std::string of_param(const Step& step, const Param& param, Place place);
  std::string of_dim(const Dim& dim, Place place);
  // An unused one, now and then.
  void add_unused();

  std::vector<std::string> globals;                  // "batch_size = 16"
  std::vector<std::string> attributes;               // "self.eps = eps"
  std::vector<std::string> parameters;               // of __init__: "eps", "eps: float = 1e-5"
  std::vector<ArgumentWords> words;                  // what the parameters are
  std::vector<std::string> arguments;                // of get_init_inputs()
  std::vector<std::pair<std::string, Json>> values;  // of the parameters
  std::vector<std::string> init_parameters;          // as in task::Signature

  // Once all have been asked for: arguments with defaults come last.
  void finish();

 private:
  enum class Style { kLiteral, kGlobal, kArgument };
  struct Constant {
    std::string name;
    std::string wanted, owner;  // as in ArgumentWords
    ParamValue value;
    Style style = Style::kLiteral;
    bool is_global = false, is_argument = false, is_attribute = false;
    std::string attribute;
  };
  Constant& constant(const std::string& key, const std::string& wanted, const ParamValue& value,
                     std::string_view owner = {});
  // As a number or, at times, as an expression.
  std::string written(const ParamValue& value);
  std::string text(Constant& one, Place place);
  void make_global(Constant& one);

  const Plan& plan_;
  PythonNames& global_names_;
  PythonNames& attribute_names_;
  Rng& rng_;
  PythonNames argument_names_;
  std::map<std::string, Constant> constants_;
  struct Argument {
    std::string name, wanted, owner, annotation, literal, given;
    bool defaulted = false;
    Json value;
  };
  std::vector<Argument> made_;
  double literal_ = 0, global_ = 0, expression_ = 0;  // probabilities of the styles
  bool annotated_ = false;
  bool sizes_in_place_ = false;  // numbers in the constructor are numbers in get_inputs() too
};

}  // namespace kw::writer::generate
