#include "data/canonical_graph.h"

#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/canonical/node_reader.h"

namespace kw::data {
namespace {

using canonical::TermId;

// Writes each term behind the terms that it uses, in the order in which outputs and operands name
// them.
class TermsText {
 public:
  explicit TermsText(const canonical::Terms& terms) : terms_(terms) {}

  std::size_t show(TermId of) {
    std::vector<std::pair<TermId, std::size_t>> open = {{of, 0}};  // how many operands were seen
    while (!open.empty()) {
      auto& [id, next] = open.back();
      const canonical::Term& term = terms_[id];
      if (shown_.contains(id)) {
        open.pop_back();
      } else if (next < term.operands.size()) {
        open.emplace_back(term.operands[next++], 0);
      } else {
        text_ += fmt::format("{} {} [{}]", term.op, canonical::text_of(term.by),
                             fmt::join(term.numbers, " "));
        for (TermId operand : term.operands) text_ += fmt::format(" {}", shown_.at(operand));
        text_ += fmt::format(" -> {}\n", canonical::text_of(term.type));
        shown_.emplace(id, shown_.size());
        open.pop_back();
      }
    }
    return shown_.at(of);
  }

  std::string text_;

 private:
  const canonical::Terms& terms_;
  std::map<TermId, std::size_t> shown_;
};

}  // namespace

std::string canonical_text(const writer::Graph& graph) {
  canonical::Terms terms;
  const canonical::NodeReader reader(graph, terms);
  TermsText text(terms);
  std::string outputs;
  for (writer::ValueId output : graph.outputs)
    outputs += fmt::format("out {}\n", text.show(reader.term(output)));
  return text.text_ + outputs;
}

}  // namespace kw::data
