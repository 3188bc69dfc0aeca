#include "writer/cpp/cpp_source.h"

#include <regex>

#include <fmt/format.h>

#include "writer/cpp/cpp_support.h"
#include "writer/cpp/cpp_text.h"
#include "writer/cpp/loop_text.h"
#include "writer/cpp/standard_headers.h"

namespace kw::writer {
namespace {

// The kernel's own variables are of these forms, or begin with kw_.
bool is_own_name(const std::string& name) {
  static const std::regex own("(a|i|order|p|r|row|t|v)[0-9].*");
  return std::regex_match(name, own);
}

// Scratch memory of the buffers that are not variables.
void write_scratch(CppText& text) {
  for (std::size_t i = 0; i < text.nest.program.buffers.size(); ++i) {
    const auto id = static_cast<BufferId>(i);
    if (text.buffer(id).kind != Buffer::Kind::kScratch || !text.is_used(id)) continue;
    const LocalBuffer* rest = text.local(id);
    if (rest != nullptr && rest->shape.empty()) continue;
    const Shape& shape = rest != nullptr ? rest->shape : text.buffer(id).type.shape;
    const std::string type(element_type(text.buffer(id).type.dtype));
    text.functions.insert("kw_scratch");
    text.format("{0}* const {1} = kw_scratch<{0}, {2}>({3});", type, text.name(id), id,
                text.index_text(element_count(shape)));
  }
}

std::string head_of_run(const std::vector<task::CppParameter>& parameters) {
  constexpr std::size_t kWidth = 100;
  std::string out, line = "extern \"C\" void run(";
  const std::string indent(line.size(), ' ');
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string each = fmt::format("{} {}{}", parameters[i].type, parameters[i].name,
                                         i + 1 < parameters.size() ? "," : ") {\n");
    if (i > 0 && line.size() + 1 + each.size() > kWidth) {
      out += line + "\n";
      line = indent;
    } else if (i > 0) {
      line += ' ';
    }
    line += each;
  }
  return out + line;
}

}  // namespace

Result<CppFile> cpp_source(const Nest& nest, const task::Signature& signature,
                           const CppTuning& tuning) {
  std::vector<task::CppParameter> parameters = task::cpp_parameters(signature);
  const Program& program = nest.program;
  for (task::CppParameter& parameter : parameters) {
    if (!is_own_name(parameter.name)) continue;
    // A number's name is part of expressions.
    if (!parameter.type.ends_with('*'))
      return fail(ErrorCode::kUnsupported,
                  "the kernel has variables of its own with names such as {}", parameter.name);
    parameter.name.insert(0, "kw_");
  }
  std::vector<std::string> names(program.buffers.size());
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    const bool given = buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kScalar;
    if (given) ++inputs;
    names[i] = given && i < parameters.size() ? parameters[i].name : fmt::format("t{}", i);
  }
  const std::size_t wanted = signature.inputs.size() + signature.statics.size();
  if (inputs != wanted || program.outputs.size() != signature.outputs.size())
    return fail(ErrorCode::kInvalidArgument,
                "the graph has {} inputs and {} outputs, the problem {} and {}", inputs,
                program.outputs.size(), wanted, signature.outputs.size());
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    names[static_cast<std::size_t>(program.outputs[i])] = parameters[wanted + i].name;

  CppText text(nest, std::move(names));
  write_scratch(text);
  write_nest(tuning, text);
  if (text.functions.contains("kw_stream")) text.line("kw_stream_end();");
  std::vector<std::string> lines = text.size_lines();
  lines.insert(lines.end(), text.lines.begin(), text.lines.end());
  std::string code = support_text(text.functions, tuning);
  code += "\n";
  for (const auto& [name, value] : nest.numbers)
    code += fmt::format("static_assert({0} == {1}, \"written for {0} = {1}\");\n", name, value);
  code += head_of_run(parameters);
  for (const std::string& line : lines) code += line + "\n";
  code += "}\n";
  // Without it, no operation on a float is moved out of what a condition guards.
  std::string head = "// flags: -fno-trapping-math";
  // Without it, GCC takes half of AVX-512's registers.
  if (code.find("#pragma omp simd") != std::string::npos) {
    head += fmt::format(" -mprefer-vector-width={}", tuning.vector_bits);
    text.choices.insert("vector_bits");
  }
  head += "\n";
  // GCC 13 joins the conditions of neighbouring extremes to branches, which it does not vectorise.
  if (code.find("kw_min(") != std::string::npos || code.find("kw_max(") != std::string::npos)
    head += "#pragma GCC optimize(\"no-thread-jumps\")\n";
  head += standard_includes(code);
  if (text.functions.contains("kw_stream") || text.functions.contains("kw_lines_of_float16"))
    head += "#if defined(__SSE2__)\n#include <immintrin.h>\n#endif\n";
  if (nest.has_tiles) text.choices.insert("transpose_tile");
  return CppFile{head + "\n" + code, std::move(text.choices)};
}

}  // namespace kw::writer
