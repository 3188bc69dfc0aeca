// Python literals of --set: repr() of what was read reads as the same value.
#include "fuzz.h"
#include "text/literal.h"
#include "text/python_scan.h"

namespace kw::fuzz {

KW_FUZZ(literal, text) {
  std::string problem = text::expression_problem(text);
  KW_CHECK(problem.size() < 100);
  auto literal = text::parse_literal(text);
  if (!accepted(literal)) return;
  std::string printed = text::repr(*literal);
  KW_CHECK(printed.find('\n') == std::string::npos);
  auto again = text::parse_literal(printed);
  // Escapes and spaces may make it longer than what may be read.
  if (printed.size() > (64U << 10U)) return;
  KW_CHECK(again);
  KW_CHECK(*again == *literal);
  KW_CHECK(text::repr(*again) == printed);
}

}  // namespace kw::fuzz
