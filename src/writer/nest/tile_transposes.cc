// tile_transposes: where neighbouring elements are read in one loop and written in another, both
// run over a tile at a time. What is read across it is transposed into a buffer of the tile before,
// line by line: lines whose distance is a power of two would drive each other out of the cache.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/check.h"
#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

class Tiler {
 public:
  Tiler(Nest& nest, int tile) : nest_(nest), tile_(tile) {}

  void of(NestList& list) {
    for (NestNode& node : list) {
      auto* loop = std::get_if<NestLoop>(&node.node);
      if (loop == nullptr) continue;
      std::vector<NestLoop*> chain = chain_from(*loop);
      if (const auto outer = transposed(chain)) {
        apply(chain, *outer);
        nest_.has_tiles = true;
      } else {
        of(loop->body);
      }
    }
  }

 private:
  // Loops that have nothing but the next one; the last one has stores alone, else: empty.
  static std::vector<NestLoop*> chain_from(NestLoop& first) {
    std::vector<NestLoop*> out = {&first};
    while (out.back()->body.size() == 1) {
      auto* next = std::get_if<NestLoop>(&out.back()->body.front().node);
      if (next == nullptr) break;
      out.push_back(next);
    }
    const bool fits =
        out.size() >= 2 &&
        std::all_of(out.begin(), out.end(),
                    [](const NestLoop* one) { return one->first == IntExpr(); }) &&
        std::all_of(out.back()->body.begin(), out.back()->body.end(), [](const NestNode& node) {
          const auto* put = std::get_if<Store>(&node.node);
          return put != nullptr && !put->update && put->accumulator.empty();
        });
    if (!fits) out.clear();
    return out;
  }

  // Place in the chain of the loop in which something is read in single steps that the innermost
  // loop reads in longer ones, where that loop writes in single steps. nullopt: there is none, or
  // an iteration may need what another one made.
  std::optional<std::size_t> transposed(const std::vector<NestLoop*>& chain) const {
    if (chain.empty()) return std::nullopt;
    const NestList& body = chain.back()->body;
    const std::string& inner = chain.back()->variable;
    std::vector<Access> reads, writes;
    for (const NestNode& node : body) {
      collect_reads(node, reads);
      collect_writes(node, writes);
    }
    for (const Access& write : writes) {
      if (is_scalar(write.buffer)) continue;
      if (stride(nest_, write, inner) != std::optional(IntExpr(1))) return std::nullopt;
      if (std::any_of(reads.begin(), reads.end(),
                      [&](const Access& read) { return read.buffer == write.buffer; }))
        return std::nullopt;
    }
    for (const Access& read : reads) {
      const auto by_inner = stride(nest_, read, inner);
      if (!by_inner || *by_inner == IntExpr(0) || *by_inner == IntExpr(1)) continue;
      for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
        const auto extent = chain[i]->extent.constant();
        const bool is_short = extent && *extent < tile_;
        if (!is_short && stride(nest_, read, chain[i]->variable) == std::optional(IntExpr(1)))
          return i;
      }
    }
    return std::nullopt;
  }

  bool is_scalar(BufferId id) const {
    const auto found = nest_.locals.find(id);
    return found != nest_.locals.end() && found->second.dims.empty();
  }

  // outer, (others), inner  ->  outer's tiles, (others), inner's tiles, outer, inner
  void apply(const std::vector<NestLoop*>& chain, std::size_t outer) {
    std::vector<NestLoop> loops;
    for (NestLoop* one : chain)
      loops.push_back({.variable = one->variable, .extent = one->extent, .body = {}});
    NestLoop& far = loops[outer];
    NestLoop& near = loops.back();
    near.body = std::move(chain.back()->body);
    const NestLoop far_tiles = tiles_of(far);
    NestLoop near_tiles = tiles_of(near);
    std::vector<NestLoop> order;
    for (std::size_t i = 0; i + 1 < loops.size(); ++i)
      order.push_back(i == outer ? far_tiles : loops[i]);
    order.push_back(std::move(near_tiles));
    std::vector<std::string> names;
    for (const NestLoop& one : order) names.push_back(one.variable);
    for (const NestLoop* one : {&far, &near}) names.push_back(one->variable);
    for (auto& [id, local] : nest_.locals) moved(local.loops, chain, names);
    NestList inside = copies(far, near);
    far.body.push_back({std::move(near)});
    inside.push_back({std::move(far)});
    for (std::size_t i = order.size(); i-- > 0;) {
      order[i].body = std::move(inside);
      inside = {};
      inside.push_back({std::move(order[i])});
    }
    *chain.front() = std::move(std::get<NestLoop>(inside.front().node));
  }

  // Loops that copy what the stores in `near` read across the tile into buffers of it, from which
  // they read it then.
  NestList copies(const NestLoop& far, NestLoop& near) {
    NestList out;
    std::vector<std::pair<ScalarRef, BufferId>> copied;
    for (NestNode& node : near.body) {
      auto& put = std::get<Store>(node.node);
      // Behind a condition elements may be out of bounds.
      put.value = rewritten_outside_selections(put.value, [&](const ScalarRef& value) -> ScalarRef {
        const auto* load = std::get_if<Scalar::Load>(&value->node);
        if (load == nullptr || !is_across(*load, far, near)) return nullptr;
        auto known = std::find_if(copied.begin(), copied.end(),
                                  [&](const auto& one) { return is_equal(one.first, value, {}); });
        if (known == copied.end()) {
          copied.emplace_back(value, new_tile(value->dtype));
          known = copied.end() - 1;
          out.push_back({copy(far, near, value, known->second)});
        }
        return writer::load(known->second, value->dtype,
                            {place_in_tile(far, IntExpr::symbol(far.variable)),
                             place_in_tile(near, IntExpr::symbol(near.variable))});
      });
    }
    return out;
  }

  bool is_across(const Scalar::Load& load, const NestLoop& far, const NestLoop& near) const {
    const std::vector<IntExpr> index = known_indices(load);
    if (index.size() != load.index.size()) return false;
    const Access read{load.buffer, {index.begin(), index.end()}};
    const auto by_near = stride(nest_, read, near.variable);
    return by_near && *by_near != IntExpr(0) && *by_near != IntExpr(1) &&
           stride(nest_, read, far.variable) == std::optional(IntExpr(1));
  }

  BufferId new_tile(tensor::DType dtype) {
    const auto id = static_cast<BufferId>(nest_.program.buffers.size());
    nest_.program.buffers.push_back(
        {Buffer::Kind::kScratch, fmt::format("t{}", id), {dtype, {tile_, tile_}}});
    return id;
  }

  static ScalarRef place_in_tile(const NestLoop& loop, const IntExpr& variable) {
    return index_number(variable - loop.first);
  }

  // for near: for far: tile[far, near] = value
  static NestLoop copy(const NestLoop& far, const NestLoop& near, const ScalarRef& value,
                       BufferId tile) {
    const auto named = [](const NestLoop& loop) {
      return NestLoop{loop.variable + "_from", loop.extent, {}, loop.first};
    };
    NestLoop line = named(far), lines = named(near);
    const IntExpr along = IntExpr::symbol(line.variable), down = IntExpr::symbol(lines.variable);
    line.body.push_back(
        {Store{.buffer = tile,
               .index = {along - line.first, down - lines.first},
               .value = substitute(value, {{far.variable, along}, {near.variable, down}}),
               .accumulator = {},
               .update = {}}});
    lines.body.push_back({std::move(line)});
    return lines;
  }

  NestLoop tiles_of(NestLoop& loop) const {
    NestLoop out{loop.variable + "_tile",
                 IntExpr::call(IntFunction::kFloorDiv, loop.extent + IntExpr(tile_ - 1), tile_),
                 {}};
    const IntExpr first = IntExpr::symbol(out.variable) * IntExpr(tile_);
    loop.extent = IntExpr::call(IntFunction::kMin, loop.extent, first + IntExpr(tile_));
    loop.first = first;
    return out;
  }

  // The path of a declaration inside the innermost of the loops.
  static void moved(std::vector<std::string>& path, const std::vector<NestLoop*>& chain,
                    const std::vector<std::string>& names) {
    const auto first = std::find(path.begin(), path.end(), names_of(chain).front());
    if (first == path.end()) return;
    KW_CHECK(path.end() - first == static_cast<std::ptrdiff_t>(chain.size()));
    path.erase(first, path.end());
    path.insert(path.end(), names.begin(), names.end());
  }
  static std::vector<std::string> names_of(const std::vector<NestLoop*>& chain) {
    std::vector<std::string> out;
    for (const NestLoop* one : chain) out.push_back(one->variable);
    return out;
  }

  Nest& nest_;
  const int tile_;
};

}  // namespace

void tile_transposes(Nest& nest, int tile) {
  if (tile > 0) Tiler(nest, tile).of(nest.body);
}

}  // namespace kw::writer
