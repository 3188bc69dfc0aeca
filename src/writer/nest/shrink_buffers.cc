// shrink_buffers: scratch memory that one iteration makes and uses is of that iteration's size.
#include <algorithm>

#include "base/check.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

struct Use {
  std::vector<std::string> loops;      // around it, outermost first
  std::vector<const NestList*> lists;  // it is in: of the body, of each loop
  Access access;
};

class Uses {
 public:
  std::map<BufferId, std::vector<Use>> found;
  std::set<BufferId> in_memory;  // a routine works on the whole buffer

  void of(const NestList& list) {
    lists_.push_back(&list);
    for (const NestNode& node : list) {
      if (const auto* loop = std::get_if<NestLoop>(&node.node)) {
        loops_.push_back(loop->variable);
        of(loop->body);
        loops_.pop_back();
        continue;
      }
      std::vector<Access> accesses;
      collect_reads(node, accesses);
      collect_writes(node, accesses);
      if (const auto* routine = std::get_if<Routine>(&node.node)) keep_whole(*routine);
      for (Access& access : accesses)
        found[access.buffer].push_back({loops_, lists_, std::move(access)});
    }
    lists_.pop_back();
  }

 private:
  void keep_whole(const Routine& routine) {
    if (const auto* scan = std::get_if<Scan>(&routine.step)) {
      in_memory.insert(scan->stage.out);
    } else if (const auto* sort = std::get_if<Sort>(&routine.step)) {
      in_memory.insert({sort->in, sort->values, sort->indices});
    } else {
      in_memory.insert(std::get<Scatter>(routine.step).out);
    }
  }

  std::vector<std::string> loops_;
  std::vector<const NestList*> lists_;
};

std::size_t common_length(const std::vector<Use>& uses) {
  std::size_t length = uses.front().loops.size();
  for (const Use& use : uses) {
    std::size_t same = 0;
    while (same < std::min(length, use.loops.size()) &&
           use.lists[same + 1] == uses.front().lists[same + 1])
      ++same;
    length = same;
  }
  return length;
}

}  // namespace

void shrink_buffers(Nest& nest) {
  Uses uses;
  uses.of(nest.body);
  for (std::size_t id = 0; id < nest.program.buffers.size(); ++id) {
    const Buffer& buffer = nest.program.buffers[id];
    auto found = uses.found.find(static_cast<BufferId>(id));
    if (buffer.kind != Buffer::Kind::kScratch || found == uses.found.end()) continue;
    const std::vector<Use>& all = found->second;
    const std::size_t rank = buffer.type.shape.size();
    if (uses.in_memory.contains(found->first)) continue;
    const std::size_t common = common_length(all);
    LocalBuffer local;
    local.loops.assign(all.front().loops.begin(),
                       all.front().loops.begin() + static_cast<std::ptrdiff_t>(common));
    for (std::size_t d = 0; d < rank; ++d) {
      const auto always_at = [&](const IntExpr& place) {
        return std::all_of(all.begin(), all.end(),
                           [&](const Use& use) { return use.access.index[d] == place; });
      };
      if (always_at(0) ||
          std::any_of(local.loops.begin(), local.loops.end(),
                      [&](const auto& loop) { return always_at(IntExpr::symbol(loop)); }))
        continue;
      local.dims.push_back(d);
      local.shape.push_back(buffer.type.shape[d]);
    }
    if (local.dims.size() < rank || rank == 0)
      nest.locals.emplace(static_cast<BufferId>(id), std::move(local));
  }
}

}  // namespace kw::writer
