// The readers of a buffer of a program.
#pragma once
#include <cstddef>
#include <set>

#include "writer/loops/loops.h"

namespace kw::writer {

struct Readers {
  std::set<std::size_t> steps;  // a scatter reads the buffer that it updates
  std::size_t loads = 0;        // in expressions
  bool only_known = true;  // every index is an expression of loop variables, in no Sort or Scatter
};
Readers readers_of(const Program& program, BufferId buffer);

// Neither an input nor an output.
bool is_scratch(const Program& program, BufferId id);

// The stage that alone reads what step `at`, a stage, makes in a scratch buffer, by indices that
// are expressions of loop variables; nullptr where there is none. Borrowed from the program.
Stage* only_reader(Program& program, std::size_t at);

}  // namespace kw::writer
