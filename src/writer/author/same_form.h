// Whether two kernels differ in how they write down sizes alone.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kw::writer {

// The lines of a C++ source without what says a size: numbers, names of sizes, casts, std::min and
// std::max, and the signs + - * / ( ) < > , and :. Loops, statements, calls, variables and
// remainders stay.
class FormOfSource {
 public:
  FormOfSource(std::string_view source, const std::map<std::string, std::int64_t>& sizes);
  bool operator==(const FormOfSource& other) const = default;

 private:
  std::vector<std::vector<std::string>> lines_;  // each line's signs, and words once, in order
};

}  // namespace kw::writer
