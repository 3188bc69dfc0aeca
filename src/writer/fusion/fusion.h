// Fusion: merges a program of whole operators into one of fewer, larger steps, for targets whose
// kernels each make one buffer. Results stay the same, and so does the order of the terms of every
// sum.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "writer/graph/int_ranges.h"
#include "writer/loops/loops.h"

namespace kw::writer {

// A pointwise stage becomes a reduction's epilogue where it alone reads the reduction's result,
// element by element, its dimensions in any order.
void merge_epilogues(Program& program);

// Pointwise stages whose results are scratch are computed where they are read, unless the
// expression is expensive and evaluated more than once.
void inline_pointwise(Program& program);

// Pointwise stages that one reduction alone reads, each element once, become its terms: where it
// reads them in strides, and products that may be those of matrices. For loops that are joined
// afterwards (nest/); call it before merge_epilogues().
void inline_terms(Program& program);

// merge_epilogues() and inline_pointwise(), until nothing changes.
void fuse(Program& program);

// Splits reductions of few rows with many terms into two steps: sums of `chunk` terms, then the sum
// of these. The traced sizes decide which reductions are split. Argument reductions never are.
void split_reductions(Program& program, std::int64_t chunk);

// ---- for all of these ----

// The ranges of the loop variables of all steps.
IntRanges ranges_of(const Program& program);
// Loops that have more than one iteration at some size.
std::vector<Loop> real_loops(const std::vector<Loop>& loops);
// Calls see(load) for each load of the step's expressions.
void for_each_load(const Step& step, const std::function<void(const Scalar::Load&)>& see);
// The variable of each loop, computed from one row-major number over all of them.
std::map<std::string, IntExpr> variables_of(const IntExpr& flat, const std::vector<Loop>& loops,
                                            const IntRanges& ranges);

}  // namespace kw::writer
