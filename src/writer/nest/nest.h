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
  // Dtype of the accumulator; for an argument reduction, of the values compared.
  tensor::DType dtype = tensor::DType::kFloat32;
};

struct Accumulate {
  std::string name;  // the name of its Declare
  ReduceOp op = ReduceOp::kSum;
  ScalarRef value;
  IntExpr position;  // the position that kArgMin and kArgMax remember
};

struct Store {
  BufferId buffer = 0;
  std::vector<IntExpr> index;      // one for each dimension
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
  std::vector<IntExpr> index;                     // one for each dimension of out
  std::vector<Loop> rows, columns, depth;         // outermost first
  ScalarRef left, right;                          // in dtype
  tensor::DType dtype = tensor::DType::kFloat32;  // float32 or float64
  ScalarRef epilogue;                             // an expression of Scalar::Reduced, in dtype
};

struct NestNode {
  std::variant<NestLoop, Declare, Accumulate, Store, Routine, Product> node;
};

// Local: a scratch buffer, or its rest, that one iteration of the loops around it makes and uses.
struct LocalBuffer {
  Shape shape;                     // the shape that is left; []: a scalar variable
  std::vector<std::size_t> dims;   // dimensions of the buffer that are left, ascending
  std::vector<std::string> loops;  // around its declaration, outermost first
};

struct Nest {
  Program program;  // its steps are in `body`
  NestList body;
  std::map<BufferId, LocalBuffer> locals;  // made by shrink_buffers()
  // Sizes that it is right for with these values alone: made by unroll_windows().
  std::map<std::string, std::int64_t> numbers;
  bool has_tiles = false;  // made by tile_transposes()
};

// A nest for each step, one after the other.
Nest make_nest(const Program& program);

// ---- transformations: each keeps what is computed, and the order of the terms of every sum ----

// Loops of equal extent become one where the second needs of the first only what the same iteration
// made; loops move up over what they do not depend on.
void fuse_loops(Nest& nest);

// Reduces `width` outputs side by side where a loop's innermost reduction walks over memory in
// strides, but one dimension of the output in steps of one.
void reduce_side_by_side(Nest& nest, int width);

// Sums of products become Products: matrix products of all kinds, convolutions, and transposed ones
// as one product for each remainder of the output's place by the stride. Before other
// transformations.
void block_products(Nest& nest);

// Turns a reduction over a window of constant size into one expression of its elements, so that
// neighbouring outputs are computed side by side. It may take `sizes` for constants, and adds those
// that it takes to the nest's numbers. Call it before fuse_loops().
void unroll_windows(Nest& nest, const std::map<std::string, std::int64_t>& sizes = {});

// Ends a reduction behind the last element that its condition lets in, where the condition bounds a
// loop of its own. Call it after reduce_side_by_side().
void bound_reductions(Nest& nest);

// Loops whose statements test whether an index is inside run in three parts: before, where every
// test that the loop's variable decides is true, and behind; in the middle part the loops inside
// do so too. After shrink_buffers().
void split_borders(Nest& nest);

// Merges two perfectly nested loops whose accesses are contiguous over both. Call it after
// shrink_buffers().
void flatten_loops(Nest& nest);

// Loops in which neighbours in memory are read in an outer one and written in the innermost one:
// both run over `tile` iterations at a time, 0: as they are. After the others.
void tile_transposes(Nest& nest, int tile);

// Converts float16 that long loops read and write in single steps a line at a time. Call it after
// the other transformations.
void convert_lines(Nest& nest);

// Drops the dimensions of scratch buffers along which each iteration uses its own element only, or
// all use the first.
void shrink_buffers(Nest& nest);

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

// The element's place in its buffer's memory, counted in elements; for a local buffer, in the part
// that is left. nullopt where it depends on data.
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
