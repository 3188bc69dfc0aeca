// Graphs, as a tracer's process writes them: what is accepted is written and read again the same,
// and becomes loops or an error.
#include "fuzz.h"
#include "writer/graph/graph.h"
#include "writer/loops/loops.h"

namespace kw::fuzz {

KW_FUZZ(graph, text) {
  auto graph = writer::graph_from_json(text, "graph");
  if (!accepted(graph)) return;
  const std::string written = writer::to_json_text(*graph);
  auto again = writer::graph_from_json(written, "graph");
  KW_CHECK(again.has_value());
  KW_CHECK(writer::to_json_text(*again) == written);
  KW_CHECK(writer::to_text(*again) == writer::to_text(*graph));
  auto program = writer::lower(*graph);
  if (accepted(program)) KW_CHECK(!writer::to_text(*program).empty());
}

}  // namespace kw::fuzz
