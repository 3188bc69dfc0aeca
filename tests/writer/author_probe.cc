// A program for tests and people: what the programmatic author writes for graphs of
// docs/formats/graph.md. A request a line on stdin, an answer a line on stdout.
// Request: {"graph": FILE, "language": NAME, "strategy": LABEL}, where LABEL may have a tuning
// ("tiled product_k=16"), with "signature" (as docs/protocol.md's "describe" gives it) for a
// module's ModelNew; {"language": NAME} alone.
// Answer: {"source": TEXT, "plan": [LINE, ..]}, {"strategies": [NAME, ..], "choices": {STRATEGY:
// [[NAME, USUAL, [VALUE, ..]], ..]}}, or {"error": TEXT, "code": NAME}.
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/json.h"
#include "writer/author/author.h"

namespace kw::writer {
namespace {

Result<std::vector<std::int64_t>> shape_of(const Graph& graph, const TensorType& type) {
  std::vector<std::int64_t> out;
  for (const IntExpr& extent : type.shape) {
    KW_TRY(const std::int64_t size, extent.evaluate(graph.sizes));
    out.push_back(size);
  }
  return out;
}

// The interface of a definition that has this graph, at the sizes that were traced.
Result<task::Signature> signature_of(const Graph& graph) {
  task::Signature out;
  for (const GraphInput& input : graph.inputs) {
    KW_TRY(auto shape, shape_of(graph, input.type));
    const bool is_static = input.role == InputRole::kStatic;
    task::Argument argument{.name = input.name,
                            .role = is_static ? task::Role::kStatic : task::Role::kInput,
                            .dtype = input.type.dtype,
                            .shape = std::move(shape)};
    if (input.role == InputRole::kScalar) argument.role = task::Role::kScalar;
    (is_static ? out.statics : out.inputs).push_back(std::move(argument));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType& type = graph.type(graph.outputs[i]);
    KW_TRY(auto shape, shape_of(graph, type));
    out.outputs.push_back({.name = fmt::format("out{}", i),
                           .role = task::Role::kOutput,
                           .dtype = type.dtype,
                           .shape = std::move(shape)});
    out.output_axes.emplace_back();
  }
  return out;
}

Json known_in(task::Language language) {
  Json names = Json::array(), all = Json::object();
  for (const std::string_view strategy : strategies(language)) {
    names.push_back(std::string(strategy));
    Json& of = all[std::string(strategy)] = Json::array();
    for (const Choice& one : choices(language, strategy))
      of.push_back({one.name, one.usual, one.values});
  }
  return Json{{"strategies", std::move(names)}, {"choices", std::move(all)}};
}

Result<Json> answer(const std::string& line) {
  KW_TRY(const Json request, parse_json(line));
  KW_TRY(ObjectReader reader, ObjectReader::make(request, ""));
  KW_TRY(const std::string name, reader.string("language"));
  const auto language = task::language_from_string(name);
  if (!language) return fail(ErrorCode::kInvalidArgument, "unknown language {}", name);
  KW_TRY(const std::string path, reader.string_or("graph", ""));
  if (path.empty()) return known_in(*language);
  KW_TRY(const std::string text_of_label, reader.string("strategy"));
  const auto label = parse_label(text_of_label);
  if (!label) return fail(ErrorCode::kInvalidArgument, "{}: no label", text_of_label);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail(ErrorCode::kNotFound, "{}: cannot be read", path);
  KW_TRY(const Graph graph, graph_from_json(text.str(), path));
  const Json* given = reader.find("signature");
  KW_TRY(const task::Signature signature,
         given == nullptr ? signature_of(graph) : task::signature_from_json(*given, "signature"));
  KW_TRY(const Draft draft,
         write_kernel(graph, signature, *language, label->strategy, label->tuning));
  return Json{{"source", draft.source}, {"plan", draft.plan}};
}

}  // namespace
}  // namespace kw::writer

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto out = kw::writer::answer(line);
    const auto said = out ? *out
                          : kw::Json{{"error", out.error().message()},
                                     {"code", std::string(kw::to_string(out.error().code()))}};
    std::cout << said.dump() << std::endl;
  }
}
