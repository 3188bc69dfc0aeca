// fuse_loops: what one loop makes is used while it is in the cache, and inputs are read once.
#include <algorithm>
#include <iterator>

#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

const NestLoop* loop_of(const NestNode& node) {
  return std::get_if<NestLoop>(&node.node);
}

// The accumulators that are declared in, or belong to, statements of this list's level.
std::string accumulator_of(const NestNode& node) {
  if (const auto* declare = std::get_if<Declare>(&node.node)) return declare->name;
  if (const auto* store = std::get_if<Store>(&node.node)) return store->accumulator;
  return {};
}

void accumulated_in(const NestNode& node, std::set<std::string>& out) {
  if (const auto* loop = loop_of(node)) {
    for (const NestNode& child : loop->body) accumulated_in(child, out);
  } else if (const auto* accumulate = std::get_if<Accumulate>(&node.node)) {
    out.insert(accumulate->name);
  }
}

// `later` needs something of `earlier`, or the other way round an accumulator.
bool depends(const NestNode& later, const NestNode& earlier) {
  std::vector<Access> reads, writes;
  collect_reads(later, reads);
  collect_writes(earlier, writes);
  for (const Access& read : reads) {
    if (std::any_of(writes.begin(), writes.end(),
                    [&](const Access& write) { return write.buffer == read.buffer; }))
      return true;
  }
  std::set<std::string> used;
  accumulated_in(earlier, used);
  if (const std::string name = accumulator_of(later); used.contains(name)) return true;
  used.clear();
  accumulated_in(later, used);
  return used.contains(accumulator_of(earlier));
}

// Every element that the second loop reads of what the first one writes is of the same iteration:
// one dimension's index is the loop variable in both.
bool same_iteration(const NestLoop& first, const NestNode& second, const std::string& variable) {
  std::vector<Access> reads, writes;
  collect_reads(second, reads);
  for (const NestNode& child : first.body) collect_writes(child, writes);
  const IntExpr own = IntExpr::symbol(variable);
  for (const Access& read : reads) {
    for (const Access& write : writes) {
      if (read.buffer != write.buffer) continue;
      bool equal = false;
      for (std::size_t d = 0; d < std::min(read.index.size(), write.index.size()); ++d)
        equal = equal || (read.index[d] == own && write.index[d] == own);
      if (!equal) return false;
    }
  }
  return true;
}

bool try_to_merge(NestNode& first_node, NestNode& second_node) {
  auto* first = std::get_if<NestLoop>(&first_node.node);
  auto* second = std::get_if<NestLoop>(&second_node.node);
  if (first == nullptr || second == nullptr || !(first->extent == second->extent)) return false;
  // Accumulators of the one that the other's iterations would see half done: not at this level, as
  // a declaration and its use stand around the loop.
  const std::map<std::string, IntExpr> renamed = {
      {second->variable, IntExpr::symbol(first->variable)}};
  NestNode moved = second_node;
  substitute(moved, renamed);
  if (!same_iteration(*first, moved, first->variable)) return false;
  for (NestNode& child : std::get<NestLoop>(moved.node).body)
    first->body.push_back(std::move(child));
  return true;
}

// Behind the last that it needs something of: what is computed once, of numbers for example, keeps
// no loops apart.
NestList::iterator earliest_place(NestList& list, const NestNode& node) {
  std::vector<Access> written, read;
  collect_writes(node, written);
  auto place = list.end();
  for (; place != list.begin(); --place) {
    const NestNode& earlier = *std::prev(place);
    if (depends(node, earlier)) break;
    // Nor is it written while others still read what was there.
    read.clear();
    collect_reads(earlier, read);
    collect_writes(earlier, read);
    if (std::any_of(read.begin(), read.end(),
                    [&](const Access& one) { return one.buffer == written.front().buffer; }))
      break;
  }
  return place;
}

void fuse(NestList& list) {
  NestList out;
  for (NestNode& node : list) {
    bool merged = false;
    // Declarations depend on nothing: they go in front of the loops that they could keep apart.
    if (std::holds_alternative<Declare>(node.node)) {
      auto place = std::find_if(out.begin(), out.end(),
                                [](const NestNode& one) { return loop_of(one) != nullptr; });
      out.insert(place, std::move(node));
      continue;
    }
    const auto* store = std::get_if<Store>(&node.node);
    if (store != nullptr && store->accumulator.empty() && !store->update) {
      auto place = earliest_place(out, node);
      if (std::none_of(place, out.end(),
                       [](const NestNode& one) { return loop_of(one) != nullptr; }))
        place = out.end();
      out.insert(place, std::move(node));
      continue;
    }
    if (loop_of(node) != nullptr) {
      for (std::size_t i = out.size(); i-- > 0 && !merged;) {
        merged = try_to_merge(out[i], node);
        if (!merged && depends(node, out[i])) break;
      }
    }
    if (merged) continue;
    // What needs nothing of the loops before it goes in front of them, where it keeps none apart.
    const bool is_free = loop_of(node) != nullptr &&
                         std::none_of(out.begin(), out.end(), [&](const NestNode& earlier) {
                           return depends(node, earlier);
                         });
    const auto place =
        is_free ? std::find_if(out.begin(), out.end(),
                               [](const NestNode& one) { return loop_of(one) != nullptr; })
                : out.end();
    out.insert(place, std::move(node));
  }
  list = std::move(out);
  for (NestNode& node : list) {
    if (auto* loop = std::get_if<NestLoop>(&node.node)) fuse(loop->body);
  }
}

}  // namespace

void fuse_loops(Nest& nest) {
  fuse(nest.body);
}

}  // namespace kw::writer
