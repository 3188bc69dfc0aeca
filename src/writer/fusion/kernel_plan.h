// Kernel plan: a program's steps, as what one kernel each computes.
#pragma once
#include <optional>
#include <variant>
#include <vector>

#include "writer/loops/loops.h"

namespace kw::writer {

// A stage of a row group; the variables of its rows are those of the group.
struct RowPart {
  Stage stage;
  std::vector<Loop> lanes;  // the other loops: reduced, or written, for each row
  bool is_stored = true;    // false: a value a row that later parts of the group alone use
};

// Stages that run row by row: each reads of the others' results only what belongs to its own row.
// Reductions give a value a row, pointwise stages write the row's elements.
struct RowGroup {
  std::vector<Loop> rows;
  std::vector<RowPart> parts;
};

// out[batch, m, n] = epilogue(sum over k of a[batch, m, k] * b[batch, k, n]): matrix products, and
// convolutions as implicit ones. Each of the four stands for several loops, flattened.
struct ProductStage {
  Stage stage;
  ScalarRef a, b;  // in the accumulator's dtype; 0 where a condition of the stage is false
  std::vector<Loop> batch, m, n, k;
  bool of_bytes = false;  // a and b are casts of int8: up to kMaxByteTerms terms sum up in int32
};
constexpr int kMaxByteTerms = 131071;  // products of two int8 are at most 2^14

using KernelWork = std::variant<Stage, RowGroup, ProductStage, Scan, Sort, Scatter>;

// nullopt: it is no such sum, or one side has no loop of its own.
std::optional<ProductStage> as_product(const Stage& stage);

// In the program's order. Row groups have a reduction at least.
std::vector<KernelWork> plan_kernels(const Program& program);

}  // namespace kw::writer
