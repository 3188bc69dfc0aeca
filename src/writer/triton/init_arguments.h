// The arguments of a module's constructor, as the class ModelNew has them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "task/signature.h"

namespace kw::writer::triton {

class InitArguments {
 public:
  explicit InitArguments(const task::Signature& signature);

  // "self, in_channels, bias=True": in the problem's order and by its names, so that it takes every
  // call that the problem's constructor takes. A default is the problem's value, None where that is
  // no number. "self, *args, **kwargs" where the parameters are not known.
  const std::string& parameters() const { return parameters_; }

  // A dimension: "in_channels", "sizes[0]" where exactly one of the integers among the arguments is
  // it; where none is, "3 * dim", "dim // heads" or "heads * width" where exactly one of these is.
  // Else it is the problem's own constant, as far as one can see: a number.
  std::string dimension(std::int64_t size) const;

 private:
  struct Integer {
    std::string text;
    std::int64_t value = 0;
  };
  std::vector<std::string> expressions_of(std::int64_t size) const;

  std::string parameters_ = "self, *args, **kwargs";
  std::vector<Integer> integers_;
};

}  // namespace kw::writer::triton
