// CppText: a C++ kernel in the making: its lines, its names, and how elements and expressions read
// in it. The parts of a kernel (loops, products, routines) are written into one.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "writer/cpp/scalar_text.h"
#include "writer/cpp/size_names.h"
#include "writer/graph/int_ranges.h"
#include "writer/nest/nest.h"

namespace kw::writer {

bool is_argument(ReduceOp op);
bool is_extreme(ReduceOp op);

class CppText {
 public:
  // names: of the program's buffers, by id. The nest outlives this.
  CppText(const Nest& nest, std::vector<std::string> names);

  const Nest& nest;
  std::vector<std::string> lines;
  // Functions that the file must define, as support_text() names them.
  std::set<std::string> functions;
  std::set<std::string> choices;  // tuning choices whose values the text contains
  IntRanges ranges;               // ranges of the loops printed so far
  int names = 0;                  // taken so far by what ScalarText prints

  // ---- lines ----
  void line(const std::string& text);
  template <typename... Args>
  void format(fmt::format_string<Args...> text, Args&&... args) {
    line(fmt::format(text, std::forward<Args>(args)...));
  }
  void directive(const std::string& text) { lines.push_back(text); }  // "#pragma ..."
  // head + " {"; what follows is inside until close().
  void open(const std::string& head);
  // Opens a loop in which the variable runs from `first` to before `end`.
  void open_loop(const std::string& variable, const std::string& first, const std::string& end);
  void open_loop(const Loop& loop);  // its variable is in `ranges` then
  void close(const std::string& end = "}");
  std::string new_name(const char* prefix) { return fmt::format("{}{}", prefix, names++); }

  // ---- buffers ----
  const Buffer& buffer(BufferId id) const;
  // nullptr: it is whole, in memory.
  const LocalBuffer* local(BufferId id) const;
  bool is_variable(BufferId id) const;  // true where the local buffer has no dimension left
  bool is_used(BufferId id) const { return used_.contains(id); }
  const std::string& name(BufferId id) const { return names_[static_cast<std::size_t>(id)]; }
  std::string pointer(BufferId id) const;
  std::string element(BufferId id, const std::vector<std::string>& index);
  // Writes one linear expression where every index is known, so that the compiler sees its strides.
  std::string element(BufferId id, const std::vector<IntExpr>& index);
  // Puts the element into a constant, which element() gives until forget_kept().
  void keep(BufferId id, const std::vector<IntExpr>& index);
  void forget_kept() { kept_.clear(); }

  // ---- expressions ----
  std::string index_text(const IntExpr& expr);
  // Lines for the beginning of the function that define the named sizes.
  std::vector<std::string> size_lines();
  // A scope of the function in which printed expressions may keep constants.
  ScalarText scope();
  // Lines that must stand before the value's text are written.
  std::string print(ScalarText& scope, const ScalarRef& value, const std::string& reduced = {});
  std::string combine(ReduceOp op, tensor::DType dtype, const std::string& a, const std::string& b);
  void store(const std::string& place, const std::string& value, tensor::DType to,
             tensor::DType from);

  // ---- accumulators ----
  void declare(const Declare& one);
  void accumulate(const Accumulate& step, ScalarText& scope);
  bool is_wide(const std::string& accumulator) const { return wide_.contains(accumulator); }

 private:
  std::string as_it_is(const IntExpr& expr);  // without names of sizes

  std::vector<std::string> names_;  // names of buffers, by id
  SizeNames sizes_;
  std::set<BufferId> used_;
  std::set<std::string> wide_;               // accumulators
  std::map<std::string, std::string> kept_;  // the constant of an element
  std::size_t indent_ = 1;
};

// The type of a buffer's elements in memory; one of a half type is kept in its bits.
std::string_view element_type(tensor::DType dtype);

// The value to compute before it is stored into an element of dtype `to`, which rounds: without a
// cast from float to that type.
const ScalarRef& before_rounding(const ScalarRef& value, tensor::DType to);

}  // namespace kw::writer
