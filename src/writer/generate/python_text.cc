#include "writer/generate/python_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kw::writer::generate {
namespace {

bool is_operand(std::string_view name) {
  return name == "x" || name == "y" || name == "z";
}

// Whether an operand between these characters is an argument, or all of the text.
bool stands_alone(char before, char after) {
  constexpr std::string_view kOpen = "([,=\n", kClose = ")],\n";
  return kOpen.find(before) != std::string_view::npos &&
         kClose.find(after) != std::string_view::npos;
}

char last_of(const std::string& text) {
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] != ' ') return text[i];
  }
  return '\n';
}

}  // namespace

bool is_atomic(std::string_view expression) {
  int depth = 0;
  char quote = 0;
  for (const char c : expression) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && std::string_view(" +-*/@<>=&|~%^,").find(c) != std::string_view::npos)
      return false;
  }
  return true;
}

std::string python_number(double value) {
  if (std::isinf(value)) return value < 0 ? "float(\"-inf\")" : "float(\"inf\")";
  std::string out = fmt::format("{}", value);
  const std::size_t exponent = out.find('e');
  if (exponent != std::string::npos) {  // 1e-05 as 1e-5
    std::size_t zero = exponent + 2;
    while (zero + 1 < out.size() && out[zero] == '0') out.erase(zero, 1);
    return out;
  }
  return out.find('.') == std::string::npos ? out + ".0" : out;
}

std::string python_text(const ParamValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return python_number(*real);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* dim = std::get_if<Dim>(&value)) return std::to_string(dim->n);
  const auto& list = std::get<std::vector<std::int64_t>>(value);
  return fmt::format("({}{})", fmt::join(list, ", "), list.size() == 1 ? "," : "");
}

std::string python_expression(std::int64_t value, Rng& rng) {
  if (value >= 64 && rng.uniform() < 0.5) {
    for (const std::int64_t factor : {2, 4, 3, 16, 8}) {
      if (value % factor == 0 && rng.uniform() < 0.5)
        return rng.uniform() < 0.7 ? fmt::format("{} * {}", value / factor, factor)
                                   : fmt::format("{} * {}", factor, value / factor);
    }
  }
  if (value >= 256 && (value & (value - 1)) == 0 && rng.uniform() < 0.3) {
    const int bits = static_cast<int>(std::lround(std::log2(static_cast<double>(value))));
    return rng.uniform() < 0.5 ? fmt::format("2 ** {}", bits) : fmt::format("1 << {}", bits);
  }
  return std::to_string(value);
}

std::string without_dots(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::string fill(std::string_view text, const std::function<std::string(std::string_view)>& place,
                 const std::function<bool(std::string_view)>& left_out) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "[[" && left_out) {
      const std::size_t end = text.find("]]", i);
      const std::string_view inside = text.substr(i + 2, end - i - 2);
      bool all = inside.find('{') != std::string_view::npos;
      for (std::size_t at = inside.find('{'); at != std::string_view::npos;
           at = inside.find('{', at + 1))
        all = all && left_out(inside.substr(at + 1, inside.find('}', at) - at - 1));
      if (!all) out += fill(inside, place, {});
      i = end + 2;
      continue;
    }
    if (text[i] != '{') {
      out += text[i++];
      continue;
    }
    const std::size_t end = text.find('}', i);
    const std::string_view name = text.substr(i + 1, end - i - 1);
    std::string made = place(name);
    const char after = end + 1 < text.size() ? text[end + 1] : '\n';
    if (is_operand(name) && !is_atomic(made) && !stands_alone(last_of(out), after))
      made = "(" + made + ")";
    out += made;
    i = end + 1;
  }
  return out;
}

std::size_t count_places(std::string_view text, std::string_view name) {
  const std::string wanted = fmt::format("{{{}}}", name);
  std::size_t out = 0;
  for (std::size_t at = text.find(wanted); at != std::string_view::npos;
       at = text.find(wanted, at + 1))
    ++out;
  return out;
}

PythonNames::PythonNames()
    : taken_{"and",     "as",    "assert",     "async",
             "await",   "break", "class",      "continue",
             "def",     "del",   "elif",       "else",
             "except",  "for",   "from",       "global",
             "if",      "in",    "is",         "lambda",
             "not",     "or",    "pass",       "raise",
             "return",  "try",   "while",      "with",
             "yield",   "torch", "nn",         "F",
             "math",    "self",  "run",        "max",
             "min",     "sum",   "float",      "int",
             "range",   "len",   "abs",        "super",
             "None",    "True",  "False",      "training",
             "forward", "Model", "get_inputs", "get_init_inputs"} {}

std::string PythonNames::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !take(name); ++i) name = fmt::format("{}{}", wanted, i);
  return name;
}

}  // namespace kw::writer::generate
