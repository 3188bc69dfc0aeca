// Constants: the numbers of a module, where each is written and how it is named.
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

// The place that needs a number.
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
  std::vector<std::string> parameters;               // __init__'s: "eps", "eps: float = 1e-5"
  std::vector<ArgumentWords> words;                  // descriptions of the parameters
  std::vector<std::string> arguments;                // get_init_inputs()' elements
  std::vector<std::pair<std::string, Json>> values;  // values of the parameters
  std::vector<std::string> init_parameters;          // the same as in task::Signature

  // Call it when all texts have been asked for: it moves arguments with defaults to the end.
  void finish();

 private:
  enum class Style { kLiteral, kGlobal, kArgument };
  struct Constant {
    std::string name;
    std::string wanted, owner;  // the same as in ArgumentWords
    ParamValue value;
    Style style = Style::kLiteral;
    bool is_global = false, is_argument = false, is_attribute = false;
    std::string attribute;
  };
  Constant& constant(const std::string& key, const std::string& wanted, const ParamValue& value,
                     std::string_view owner = {});
  // The value as a number or, sometimes, as an expression.
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
