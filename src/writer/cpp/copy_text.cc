#include "writer/cpp/copy_text.h"

#include <optional>

#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using tensor::DType;

// One element of a buffer as it is in another one, perhaps cast.
struct Copy {
  BufferId source = 0, target = 0;
  IntExpr from, to;  // places in memory, counted in elements
};

std::optional<Copy> copy_in(const NestList& body, const CppText& text) {
  const Store* put = body.size() == 1 ? std::get_if<Store>(&body.front().node) : nullptr;
  if (put == nullptr || put->update || !put->accumulator.empty()) return std::nullopt;
  const auto* cast = std::get_if<Scalar::Cast>(&put->value->node);
  const ScalarRef& value = cast != nullptr ? cast->value : put->value;
  const auto* load = std::get_if<Scalar::Load>(&value->node);
  if (load == nullptr || load->buffer == put->buffer || text.is_variable(load->buffer) ||
      text.is_variable(put->buffer) || put->value->dtype != text.buffer(put->buffer).type.dtype)
    return std::nullopt;
  const std::vector<IntExpr> index = known_indices(*load);
  if (index.size() != load->index.size()) return std::nullopt;
  return Copy{.source = load->buffer,
              .target = put->buffer,
              .from = linear_index(text.nest, load->buffer, index),
              .to = linear_index(text.nest, put->buffer, put->index)};
}

bool is_one_step(const IntExpr& place, const NestLoop& loop) {
  return place.coefficient(loop.variable) == std::optional(IntExpr(1));
}

std::string count(const NestLoop& loop, CppText& text) {
  return text.index_text(loop.extent - loop.first);
}

bool write_converted(const NestLoop& loop, CppText& text) {
  const auto copy = copy_in(loop.body, text);
  if (!copy || !is_one_step(copy->from, loop) || !is_one_step(copy->to, loop)) return false;
  const DType from = text.buffer(copy->source).type.dtype,
              to = text.buffer(copy->target).type.dtype;
  const bool rounds = from == DType::kFloat32 && to == DType::kFloat16;
  if (!rounds && (from != DType::kFloat16 || to != DType::kFloat32)) return false;
  text.functions.insert({"kw_float16", "kw_lines_of_float16"});
  const auto first = [&](BufferId id, const IntExpr& place) {
    return fmt::format("{} + {}", text.name(id),
                       text.index_text(place.substitute({{loop.variable, loop.first}})));
  };
  text.format("kw_line_{}_float16({}, {}, {});", rounds ? "to" : "from",
              first(copy->source, copy->from), first(copy->target, copy->to), count(loop, text));
  return true;
}

// Read in single steps of the inner loop and written in those of the outer one.
bool write_transposed(const NestLoop& lines, CppText& text) {
  const auto* line =
      lines.body.size() == 1 ? std::get_if<NestLoop>(&lines.body.front().node) : nullptr;
  if (line == nullptr) return false;
  const auto copy = copy_in(line->body, text);
  if (!copy || !is_one_step(copy->from, *line) || !is_one_step(copy->to, lines) ||
      text.buffer(copy->target).kind != Buffer::Kind::kScratch ||
      text.buffer(copy->source).type.dtype != text.buffer(copy->target).type.dtype)
    return false;
  const auto outer = copy->from.coefficient(lines.variable),
             width = copy->to.coefficient(line->variable);
  if (!outer || !width) return false;
  text.functions.insert("kw_transpose_tile");
  const auto first = [&](BufferId id, const IntExpr& place) {
    const IntExpr at =
        place.substitute({{lines.variable, lines.first}, {line->variable, line->first}});
    return fmt::format("{} + {}", text.name(id), text.index_text(at));
  };
  text.format("kw_transpose_tile({}, {}, {}, {}, {}, {});", first(copy->source, copy->from),
              text.index_text(*outer), count(lines, text), count(*line, text),
              first(copy->target, copy->to), text.index_text(*width));
  return true;
}

}  // namespace

bool write_copy(const NestLoop& loop, CppText& text) {
  return write_converted(loop, text) || write_transposed(loop, text);
}

}  // namespace kw::writer
