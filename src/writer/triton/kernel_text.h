// KernelText: one Triton kernel while it is written: its parameters, its lines, and the names of
// its integers.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "writer/graph/int_ranges.h"
#include "writer/loops/loops.h"

namespace kw::writer::triton {

// How tightly Python binds an expression; smaller is tighter.
enum Level { kAtom, kUnary, kProduct, kSum, kShift, kBitAnd, kBitXor, kBitOr, kComparison };

// A printed expression. axes: a bit for each axis of the kernel's tile that it varies along; it has
// extent 1 along the others (0: a scalar). scope: the innermost one that it needs.
struct Text {
  std::string text;
  unsigned axes = 0;
  int level = kAtom;
  std::size_t scope = 0;
};

std::string wrapped(const Text& text, int loosest);  // in parentheses where it binds looser

// "tl.float32", "tl.int1"; in which values of a dtype are computed with: float32 for 16-bit types.
std::string_view triton_type(tensor::DType dtype);
std::string_view value_type(tensor::DType dtype);
std::string number_text(double value);  // "0.5", "float(\"inf\")"

struct Parameter {
  std::string name;
  std::variant<BufferId, IntExpr> value;  // a buffer's address or a host scalar, or a size
};

// Loops run by the lanes of one axis, flattened row-major into one integer.
struct Flat {
  std::string name;         // name of that integer: "at"
  std::string prefix;       // prefix of the loop variables taken from it: "i" gives i0, i1, i0_1
  std::vector<Loop> loops;  // outermost first
  unsigned axes = 0;
  // True: the integer has the type of the sizes, 32 bits where they fit, because a 64-bit division
  // takes many times as long. Variables taken from it have 64 bits.
  bool is_narrow = false;
};

class KernelText {
 public:
  KernelText(const Program& program, std::string name);

  const std::string& name() const { return name_; }
  const Program& program() const { return program_; }
  const Buffer& buffer(BufferId id) const { return program_.buffers[static_cast<std::size_t>(id)]; }

  // An axis whose extent is the compile-time constant `block`, at that dimension of the tiles that
  // have it. All are made before anything is printed.
  unsigned add_axis(const std::string& block, std::size_t dimension = 0);
  void set_mask(unsigned axis, const Text& mask);  // lanes that exist; without a mask, all do
  std::string shape(unsigned axes) const;          // "[BLOCK_M, 1]"
  std::string expand(unsigned axis) const;         // "[:, None]"; "" where tiles have one dimension

  // ---- lines ----
  void line(std::string text);
  // Writes the line into an outer scope, before the loop that is open.
  void line_at(std::size_t scope, std::string text);
  template <typename... Args>
  void format(fmt::format_string<Args...> text, Args&&... args) {
    line(fmt::format(text, std::forward<Args>(args)...));
  }
  std::size_t open(std::string head);  // "for r0 in range(0, N):"; the new scope
  void close();
  std::size_t scope() const { return scopes_.size() - 1; }
  std::string fresh(const std::string& wish);  // a name that nothing has
  // A printed value that later printings reuse until its scope is closed.
  using Key = std::pair<const Scalar*, std::string>;
  const Text* known(const Key& key) const;
  void remember(const Key& key, const Text& text);

  // ---- parameters ----
  std::string pointer(BufferId id);      // "x_ptr"
  std::string host_scalar(BufferId id);  // "scale"
  // A number, or the parameter that holds this expression of sizes alone.
  std::string size(const IntExpr& expr);
  // 0 <= expr < extent, proven.
  bool in_bounds(const IntExpr& expr, const IntExpr& extent) const {
    return ranges_.nonnegative(expr) && ranges_.less(expr, extent);
  }
  void constant(const std::string& name) { constants_.push_back(name); }

  // ---- integers ----
  void bind(const Loop& loop, Text text);
  void bind(Flat flat);  // for the rest of the scope
  Text integer(const IntExpr& expr);
  // All masks of the axes, and the condition if there is one; empty: no mask.
  Text mask(unsigned axes, const Text* condition);

  std::string text() const;  // the whole function
  // The functions of support.h that it uses.
  const std::set<std::string>& functions() const { return functions_; }
  std::vector<Parameter> parameters() const;  // in the function's order: addresses first

 private:
  struct Scope {
    std::string head;
    std::vector<std::string> lines;
    std::map<Key, Text> known;
    std::set<std::string> bound;
    std::size_t flats = 0;
  };

  IntExpr with_segments(IntExpr expr);
  Text factor(const IntFactor& one);
  bool varies(const IntExpr& expr) const;
  const Text& segment(const Flat& flat, std::size_t first, std::size_t last, std::size_t scope);

  const Program& program_;
  std::string name_;
  struct Axis {
    std::string block;
    std::size_t dimension = 0;
    Text mask;
  };
  std::vector<Axis> axes_;
  std::size_t rank_ = 0;  // number of dimensions of the tiles
  std::vector<Scope> scopes_;
  std::set<std::string> used_;
  IntRanges ranges_;
  std::set<std::string> functions_;
  std::vector<Parameter> parameters_;
  std::map<BufferId, std::string> buffers_;
  std::map<IntExpr, std::string> sizes_;
  std::vector<std::string> constants_;
  std::map<std::string, Text> variables_;  // texts of the program's loops, and of segments
  std::vector<std::pair<Flat, std::size_t>> flats_;  // with their scope
};

}  // namespace kw::writer::triton
