// Nest: a program as a tree of loops and statements, which strategies reshape and emitters print.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "writer/loops/loops.h"

namespace kw::writer {

struct NestNode;
using NestList = std::vector<NestNode>;  // in their order

struct NestLoop {
  std::string variable;
  IntExpr extent;  // the first value behind the last one
  NestList body;
  IntExpr first = {};  // other than 0 after split_borders() and tile_transposes() alone
};

// A scalar that a reduction collects in, with the operation's identity as its first value. kArgMin
// and kArgMax have the best value beside the position: NAME_best.
struct Declare {
  std::string name;
  ReduceOp op = ReduceOp::kSum;
  task::DType dtype = task::DType::kFloat32;  // of the accumulator; of an argument reduction: of
                                              // the compared values
};

struct Accumulate {
  std::string name;  // of a Declare
  ReduceOp op = ReduceOp::kSum;
  ScalarRef value;
  IntExpr position;  // kArgMin, kArgMax: what is remembered
};

struct Store {
  BufferId buffer = 0;
  std::vector<IntExpr> index;      // one a dimension
  ScalarRef value;                 // Scalar::Reduced: the accumulator of this name
  std::string accumulator;         // empty: no Scalar::Reduced in the value
  std::optional<ReduceOp> update;  // set: buffer[index] = op(buffer[index], value)
};

// Steps that are no loops over one expression.
struct Routine {
  std::variant<Scan, Sort, Scatter> step;
};

// out[index] = epilogue(sum over `depth` of left * right), for all of `rows` and `columns`. left
// depends on the rows and `depth`, right on `depth` and the columns; loops around it may be in
// both.
struct Product {
  BufferId out = 0;
  std::vector<IntExpr> index;                 // one a dimension of out
  std::vector<Loop> rows, columns, depth;     // outermost first
  ScalarRef left, right;                      // of dtype
  task::DType dtype = task::DType::kFloat32;  // float32 or float64
  ScalarRef epilogue;                         // of Scalar::Reduced, of dtype
};

struct NestNode {
  std::variant<NestLoop, Declare, Accumulate, Store, Routine, Product> node;
};

// Local: a scratch buffer, or its rest, that one iteration of the loops around it makes and uses.
struct LocalBuffer {
  Shape shape;                     // of what is left; []: a scalar variable
  std::vector<std::size_t> dims;   // of the buffer, that are left, ascending
  std::vector<std::string> loops;  // around its declaration, outermost first
};

struct Nest {
  Program program;  // its steps are in `body`
  NestList body;
  std::map<BufferId, LocalBuffer> locals;  // made by shrink_buffers()
  // Sizes that it is right for with these values alone: made by unroll_windows().
  std::map<std::string, std::int64_t> numbers;
  bool has_tiles = false;  // of tile_transposes()
};

// A nest for each step, one after the other.
Nest make_nest(const Program& program);

// ---- transformations: each keeps what is computed, and the order of the terms of every sum ----

// Loops of equal extent become one where the second needs of the first only what the same iteration
// made; loops move up over what they do not depend on.
void fuse_loops(Nest& nest);

// Where a loop's innermost reduction walks over memory in strides, but one of the output's
// dimensions in steps of one: `width` of these are reduced side by side.
void reduce_side_by_side(Nest& nest, int width);

// Sums of products become Products: matrix products of all kinds, convolutions, and transposed ones
// as one product for each remainder of the output's place by the stride. Before other
// transformations.
void block_products(Nest& nest);

// A reduction over a window of constant size becomes one expression of its elements, so that
// neighbouring outputs are computed side by side. `sizes` may be taken for constants; those that
// are, are among the nest's numbers then. Before fuse_loops().
void unroll_windows(Nest& nest, const std::map<std::string, std::int64_t>& sizes = {});

// A reduction over elements of which a condition lets some in ends behind the last of those, where
// the condition says so of a loop of its own. After reduce_side_by_side().
void bound_reductions(Nest& nest);

// Loops whose statements test whether an index is inside run in three parts: before, where every
// test that the loop's variable decides is true, and behind; in the middle part the loops inside
// do so too. After shrink_buffers().
void split_borders(Nest& nest);

// A loop that has nothing but another loop, through which everything is read and written in one
// step from the first to the last iteration, becomes one loop with it. After shrink_buffers().
void flatten_loops(Nest& nest);

// Loops in which neighbours in memory are read in an outer one and written in the innermost one:
// both run over `tile` iterations at a time, 0: as they are. After the others.
void tile_transposes(Nest& nest, int tile);

// What long loops read and write in float16 in single steps is converted a line at a time. After
// the others.
void convert_lines(Nest& nest);

// Drops the dimensions of scratch buffers along which each iteration uses its own element only, or
// all use the first.
void shrink_buffers(Nest& nest);

// Pointwise stages that alone read a reduction of as many elements become its epilogue. Before
// make_nest().
void inline_epilogues(Program& program);

// Pointwise stages that one reduction alone reads, each element once, become its terms: where it
// reads them in strides, and products that may be those of matrices. Before inline_epilogues().
void inline_terms(Program& program);

// A nest of loops that has nothing but one reduction: loops > declare, loops > accumulate, store.
struct Reduction {
  std::vector<NestLoop*> loops;  // over the outputs, outermost first; may be empty
  Declare* declare = nullptr;
  std::vector<NestLoop*> reduced;  // outermost first
  Accumulate* step = nullptr;
  Store* store = nullptr;
};
std::optional<Reduction> reduction_in(NestNode& node);

// Visits every one of the nest, the outer loops of others included.
void for_each_reduction(Nest& nest, const std::function<void(Reduction&)>& visit);

// ---- what is read and written ----
struct Access {
  BufferId buffer = 0;
  std::vector<std::optional<IntExpr>> index;  // nullopt: depends on data
  std::set<std::string> by_data = {};         // variables in the indices that do
};
void collect_reads(const NestNode& node, std::vector<Access>& out);
void collect_reads(const ScalarRef& value, std::vector<Access>& out);
void collect_writes(const NestNode& node, std::vector<Access>& out);

// How far it runs at the sizes that were traced, in the first iteration of the loops around it.
std::optional<std::int64_t> traced_extent(const Nest& nest, const NestLoop& loop);

// The element's place in its buffer's memory, counted in elements; of a local buffer in what is
// left of it. nullopt: depends on data.
std::optional<IntExpr> linear_index(const Nest& nest, const Access& access);
IntExpr linear_index(const Nest& nest, BufferId buffer, const std::vector<IntExpr>& index);

// From one iteration of the variable's loop to the next, in elements; nullopt where the place is
// not linear in it or depends on data.
std::optional<IntExpr> stride(const Nest& nest, const Access& access, const std::string& variable);

void substitute(NestNode& node, const std::map<std::string, IntExpr>& values);

// An epilogue over another value than Scalar::Reduced.
ScalarRef with_reduced(const ScalarRef& value, const ScalarRef& replacement);

std::string to_text(const Nest& nest);  // for people and golden files

}  // namespace kw::writer
