// A kernel with everything that its launch needs.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "writer/fusion/kernel_plan.h"
#include "writer/triton/kernel_text.h"
#include "writer/triton/scalar_printer.h"
#include "writer/triton/triton_tuning.h"

namespace kw::writer::triton {

struct Launch {
  std::string name;
  std::string text;                                            // the function
  std::vector<Parameter> parameters;                           // in its order
  std::string grid;                                            // one dimension, Python over sizes
  std::vector<IntExpr> grid_sizes;                             // sizes whose symbols the grid names
  std::vector<std::pair<std::string, std::string>> constants;  // compile-time ones, Python
  std::string tiling;                                          // for the plan: "BLOCK=256"
  int warps = 4;
  int stages = 0;                   // stages of its pipelined loops; 0: Triton's own number
  std::set<std::string> functions;  // the functions of support.h that it uses
  bool libdevice = false;
  std::set<std::string> missing;  // operations that Triton has no text for
  // The kernel is for at most `limit` of these; for more there is the other one.
  IntExpr limited;
  int limit = 0;  // 0: for any
  std::vector<Launch> otherwise;
};

// The launch of a kernel whose text and printer are complete.
Launch finished(const KernelText& kernel, const ScalarPrinter& printer);

// The kernel for at most `limit` of `count`, and the other one for more.
Launch limited(Launch kernel, const IntExpr& count, int limit, Launch longer);

// ---- one step a kernel, in the order of the program ----

// Each program makes a block of outputs, each lane one; reductions are loops.
Launch block_kernel(const Program& program, const Stage& stage, const std::string& name,
                    const TritonTuning& tuning);
// A lane walks along the axis.
Launch scan_kernel(const Program& program, const Scan& scan, const std::string& name,
                   const TritonTuning& tuning);
// True for a scan along the innermost dimension by an operation that Triton can scan with.
bool is_scan_of_rows(const Program& program, const Scan& scan);
// A block of a row's lanes is scanned at a time.
Launch row_scan_kernel(const Program& program, const Scan& scan, const std::string& name,
                       const TritonTuning& tuning);
// Each lane counts what comes before its element.
Launch sort_kernel(const Program& program, const Sort& sort, const std::string& name,
                   const TritonTuning& tuning);
// Whole rows by a sorting network, and sort_kernel() for longer ones. nullopt: rows are long, or
// their elements have more than 32 bits.
std::optional<Launch> row_sort_kernel(const Program& program, const Sort& sort,
                                      const std::string& name, const TritonTuning& tuning);
// Each lane has an element of the output and looks through all updates for its own, so their order
// is kept.
Launch scatter_kernel(const Program& program, const Scatter& scatter, const std::string& name,
                      const TritonTuning& tuning);

// Each lane adds an update at its place, so the order of the additions is not fixed.
bool can_add_atomically(const Program& program, const Scatter& scatter);
Launch atomic_scatter_kernel(const Program& program, const Scatter& scatter,
                             const std::string& name, const TritonTuning& tuning);

// ---- several steps a kernel ----

struct Tiling {
  int rows = 1, lanes = 1;  // the tile that a program has at once
  bool online = false;      // softmax's maximum and sum in one pass
};
// For the sizes that were traced.
Tiling tiling_of(const Program& program, const RowGroup& group, const TritonTuning& tuning);
// True where one output for each lane is better: few terms, or neighbouring outputs that read
// neighbouring elements.
bool is_for_lanes(const Program& program, const RowGroup& group);
Launch row_kernel(const Program& program, const RowGroup& group, const std::string& name,
                  const Tiling& tiling);
// Whole rows at once, up to so many lanes, and row_kernel() for longer ones. nullopt: the group's
// parts have rows of different lengths, or longer ones when it was traced.
std::optional<Launch> whole_row_kernel(const Program& program, const RowGroup& group,
                                       const std::string& name, const Tiling& tiling, int most);
Launch product_kernel(const Program& program, const ProductStage& product, const std::string& name,
                      const TritonTuning& tuning);

}  // namespace kw::writer::triton
