#include "writer/loops/loops.h"

namespace kw::writer {

IntExpr count_of(std::span<const Loop> loops) {
  IntExpr out = 1;
  for (const Loop& loop : loops) out = out * loop.extent;
  return out;
}

IntExpr row_major(std::span<const Loop> loops) {
  IntExpr out;
  for (const Loop& loop : loops) {
    out = out * loop.extent;
    if (loop.extent.constant() != 1) out = out + IntExpr::symbol(loop.variable);
  }
  return out;
}

}  // namespace kw::writer
