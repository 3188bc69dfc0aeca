// flatten_loops: two loops over what lies in memory without gaps become one long one.
#include <algorithm>

#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

class Flattener {
 public:
  explicit Flattener(Nest& nest) : nest_(nest) {}

  void run() {
    count(nest_.body);
    of(nest_.body);
  }

 private:
  void of(NestList& list) {
    for (NestNode& node : list) {
      auto* loop = std::get_if<NestLoop>(&node.node);
      if (loop == nullptr) continue;
      of(loop->body);
      while (can_merge(*loop)) merge(*loop);
    }
  }

  static bool can_hold(const NestNode& node) {
    return std::holds_alternative<NestLoop>(node.node) ||
           std::holds_alternative<Declare>(node.node) ||
           std::holds_alternative<Accumulate>(node.node) ||
           std::holds_alternative<Store>(node.node);
  }

  bool can_merge(const NestLoop& outer) const {
    if (outer.body.size() != 1) return false;
    const auto* inner = std::get_if<NestLoop>(&outer.body.front().node);
    if (inner == nullptr || !(outer.first == IntExpr()) || !(inner->first == IntExpr()))
      return false;
    const bool declared_between =
        std::any_of(nest_.locals.begin(), nest_.locals.end(), [&](const auto& local) {
          return !local.second.loops.empty() && local.second.loops.back() == outer.variable;
        });
    if (declared_between || is_part(outer.variable) || is_part(inner->variable)) return false;
    const bool one = outer.extent == IntExpr(1) || inner->extent == IntExpr(1);
    return std::all_of(inner->body.begin(), inner->body.end(), [&](const NestNode& node) {
      return one ? can_hold_all(node) : fits(node, outer, *inner);
    });
  }

  // Of a loop that was split, with something local to it: the other parts go on under its name.
  bool is_part(const std::string& variable) const {
    return count_.at(variable) > 1 &&
           std::any_of(nest_.locals.begin(), nest_.locals.end(), [&](const auto& local) {
             const std::vector<std::string>& loops = local.second.loops;
             return std::find(loops.begin(), loops.end(), variable) != loops.end();
           });
  }

  static bool can_hold_all(const NestNode& node) {
    const auto* loop = std::get_if<NestLoop>(&node.node);
    return can_hold(node) &&
           (loop == nullptr || std::all_of(loop->body.begin(), loop->body.end(), can_hold_all));
  }

  bool fits(const NestNode& node, const NestLoop& outer, const NestLoop& inner) const {
    if (!can_hold(node)) return false;
    if (const auto* loop = std::get_if<NestLoop>(&node.node)) {
      if (loop->extent.contains(outer.variable) || loop->extent.contains(inner.variable))
        return false;
      return std::all_of(loop->body.begin(), loop->body.end(),
                         [&](const NestNode& one) { return fits(one, outer, inner); });
    }
    if (const auto* step = std::get_if<Accumulate>(&node.node))
      return fits(step->position, outer, inner) && fits(step->value, outer, inner);
    if (const auto* put = std::get_if<Store>(&node.node))
      return fits(linear_index(nest_, put->buffer, put->index), outer, inner) &&
             fits(put->value, outer, inner);
    return true;
  }

  // One step from each iteration of the inner loop to the next, and from its last to the next
  // first.
  static bool fits(const IntExpr& index, const NestLoop& outer, const NestLoop& inner) {
    const auto far = index.coefficient(outer.variable), near = index.coefficient(inner.variable);
    return far && near && *far == *near * inner.extent && !near->contains(outer.variable) &&
           !far->contains(inner.variable);
  }

  bool fits(const ScalarRef& value, const NestLoop& outer, const NestLoop& inner) const {
    bool out = true;
    std::set<const Scalar*> in_loads;
    visit(value, [&](const Scalar& each) {
      const auto* load = std::get_if<Scalar::Load>(&each.node);
      if (load == nullptr) return;
      const std::vector<IntExpr> index = known_indices(*load);
      if (index.size() != load->index.size()) return;
      out = out && fits(linear_index(nest_, load->buffer, index), outer, inner);
      for (const ScalarRef& one : load->index) in_loads.insert(one.get());
    });
    visit(value, [&](const Scalar& each) {
      const auto* index = std::get_if<Scalar::Index>(&each.node);
      if (index == nullptr || in_loads.contains(&each)) return;
      out = out && !index->expr.contains(outer.variable) && !index->expr.contains(inner.variable);
    });
    return out;
  }

  void merge(NestLoop& outer) {
    NestLoop inner = std::move(std::get<NestLoop>(outer.body.front().node));
    const bool keeps_outer = inner.extent == IntExpr(1) && !(outer.extent == IntExpr(1));
    const std::string gone = keeps_outer ? inner.variable : outer.variable;
    for (NestNode& node : inner.body) substitute(node, {{gone, IntExpr()}});
    for (auto& local : nest_.locals) std::erase(local.second.loops, gone);
    outer.extent = outer.extent * inner.extent;
    if (!keeps_outer) outer.variable = inner.variable;
    outer.body = std::move(inner.body);
  }

  void count(const NestList& list) {
    for (const NestNode& node : list) {
      const auto* loop = std::get_if<NestLoop>(&node.node);
      if (loop == nullptr) continue;
      ++count_[loop->variable];
      count(loop->body);
    }
  }

  Nest& nest_;
  std::map<std::string, int> count_;  // loops of a name
};

}  // namespace

void flatten_loops(Nest& nest) {
  Flattener(nest).run();
}

}  // namespace kw::writer
