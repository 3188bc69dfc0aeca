// Finds the top-level statements of Python source without running it: enough to see which
// functions, classes and constants a file defines, and where a constant's value stands. Strings,
// comments, brackets and continuation lines are respected.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kw::text {

// NAME = value at column 0. Offsets are bytes in the scanned source; [value_begin, value_end)
// leaves out spaces and comments around it.
struct PythonAssignment {
  std::string name;
  std::size_t value_begin = 0, value_end = 0;
  bool augmented = false;  // NAME += value
};

// Refers to the source given, which must outlive it. Malformed source gives what was found up to
// there.
class PythonScan {
 public:
  explicit PythonScan(std::string_view source);

  const std::vector<std::string>& functions() const { return functions_; }  // def and async def
  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<PythonAssignment>& assignments() const { return assignments_; }
  bool defines(std::string_view name) const;  // as a function, a class or by assignment

 private:
  void statement(std::string_view source, std::size_t begin, std::size_t end);
  void assignment(std::string_view source, std::size_t begin, std::size_t end);

  std::vector<std::string> functions_, classes_;
  std::vector<PythonAssignment> assignments_;
};

// Why text cannot be one Python expression ("empty", "brackets do not match", "more than one
// line"), or "".
std::string expression_problem(std::string_view text);

}  // namespace kw::text
