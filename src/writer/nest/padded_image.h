// PaddedImage: what a convolution reads, in scratch memory in the order in which it is read.
#pragma once
#include <optional>
#include <vector>

#include "writer/graph/int_ranges.h"
#include "writer/nest/nest.h"

namespace kw::writer {

// An ImageRead says how a product reads its right operand.
struct ImageRead {
  ScalarRef value;                           // a load, or one that is cast
  std::vector<ScalarRef> conditions;         // under which it counts; else it is zero
  std::vector<Loop> around, columns, depth;  // loops of the matmul, outermost first
  IntRanges ranges;                          // ranges of their variables
};

struct PaddedImage {
  NestNode filling;                   // inside the loops `around`
  ScalarRef value;                    // takes the place of the operand and its conditions
  std::vector<Loop> around, columns;  // loops of the matmul that reads it
};

// An image with its border of zeros, places of equal remainder by the stride beside each other: it
// is read without conditions and in steps of one. nullopt: it would be read no better, or the
// operand is of another form. Its buffer, of `dtype`, is added to the program.
std::optional<PaddedImage> padded_image(const ImageRead& read, tensor::DType dtype,
                                        Program& program);

}  // namespace kw::writer
