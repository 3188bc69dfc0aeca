// Fusion: a program of whole operators as one of fewer, larger steps, for targets whose kernels
// each make one buffer. What is computed stays, and so does the order of the terms of every sum.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "writer/graph/int_ranges.h"
#include "writer/loops/loops.h"

namespace kw::writer {

// Where only one pointwise stage reads a reduction's result, element by element, it becomes the
// reduction's epilogue.
void merge_epilogues(Program& program);

// Pointwise stages whose results are scratch are computed where they are read, unless that is done
// often and dear.
void inline_pointwise(Program& program);

// Both, until nothing changes.
void fuse(Program& program);

// Reductions of few rows with many terms in two steps: sums of `chunk` terms, then their sum. Which
// ones is decided by the sizes that were traced. Not argument reductions.
void split_reductions(Program& program, std::int64_t chunk);

// ---- for all of these ----

// What is known of the loops of all steps.
IntRanges ranges_of(const Program& program);
// Loops that have more than one iteration, whatever the sizes are.
std::vector<Loop> real_loops(const std::vector<Loop>& loops);
// Calls see(load) for each load of the step's expressions.
void for_each_load(const Step& step, const std::function<void(const Scalar::Load&)>& see);
// Of one row-major number over loops, the variable of each.
std::map<std::string, IntExpr> variables_of(const IntExpr& flat, const std::vector<Loop>& loops,
                                            const IntRanges& ranges);

}  // namespace kw::writer
