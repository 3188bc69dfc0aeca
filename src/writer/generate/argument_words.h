// The words that people write beside a constructor's argument.
#pragma once
#include <string>

#include "base/random.h"

namespace kw::writer::generate {

struct ArgumentWords {
  std::string name;      // the name that the constructor gives it: "kernel_size2"
  std::string wanted;    // its kind: "kernel_size"
  std::string type;      // "int"
  std::string owner;     // the operator's name; empty: a size of several tensors
  std::string standard;  // its default; empty: it has none
};

// "size of the window in each dimension"
std::string description(const ArgumentWords& argument, Rng& rng);

// A line for a list of arguments: "kernel_size (int): size of the window. Default: 3"
std::string argument_line(const ArgumentWords& argument, Rng& rng);

}  // namespace kw::writer::generate
