// A program for tests and people: graphs of docs/formats/graph.md as loops, and what they compute.
//   kw_writer_probe text GRAPH     the loops
//   kw_writer_probe run            a request a line on stdin, an answer a line on stdout
//   kw_writer_probe kernels GRAPH FOLDER [AXIS ..] [-- LABEL ..]   every strategy's kernel
// Request: {"graph": FILE, "sizes": {NAME: N}, "inputs": FILE, "outputs": FILE, "rounded": BOOL,
// "most_work": N}; the files hold the numbers of all inputs (outputs) one after the other, as
// float64. Answer: {"counts": [N, ..], "steps": N}, {"error": TEXT}, or {"work": N} for a program
// of more element steps than most_work, which is not run. `kernels` writes FOLDER/problem.h,
// kw_call.h and a NAME.cpp a strategy, and prints {"strategies": [..]} in the order of preference;
// the axes named are run()'s trailing arguments, other sizes are constants.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/json.h"
#include "graph_signature.h"
#include "writer/author/author.h"
#include "writer/loops/loops.h"

namespace kw::writer {
namespace {

Result<std::string> whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  if (!file) return fail(ErrorCode::kNotFound, "{}: cannot be read", path);
  return out.str();
}

Result<Program> program_of(const std::string& path) {
  KW_TRY(const std::string text, whole_file(path));
  KW_TRY(const Graph graph, graph_from_json(text, path));
  return lower(graph);
}

Result<std::vector<std::vector<double>>> inputs_of(
    const Program& program, const std::string& path,
    const std::map<std::string, std::int64_t>& sizes) {
  KW_TRY(const std::string bytes, whole_file(path));
  std::vector<std::vector<double>> out;
  std::size_t at = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != Buffer::Kind::kInput && buffer.kind != Buffer::Kind::kScalar) continue;
    std::int64_t count = 1;
    for (const IntExpr& each : buffer.type.shape) {
      KW_TRY(const std::int64_t extent, each.evaluate(sizes));
      count *= extent;
    }
    const std::size_t size = static_cast<std::size_t>(count) * sizeof(double);
    if (at + size > bytes.size()) return fail(ErrorCode::kInvalidArgument, "{}: too short", path);
    std::memcpy(out.emplace_back(static_cast<std::size_t>(count)).data(), bytes.data() + at, size);
    at += size;
  }
  if (at != bytes.size()) return fail(ErrorCode::kInvalidArgument, "{}: too long", path);
  return out;
}

// How often bodies are evaluated.
Result<double> work_of(const Program& program, const std::map<std::string, std::int64_t>& sizes) {
  double sum = 0;
  for (const Step& step : program.steps) {
    std::vector<Loop> loops;
    if (const auto* stage = std::get_if<Stage>(&step)) {
      loops = stage->loops;
      loops.insert(loops.end(), stage->reduced.begin(), stage->reduced.end());
    } else if (const auto* scan = std::get_if<Scan>(&step)) {
      loops = scan->stage.loops;
    } else if (const auto* scatter = std::get_if<Scatter>(&step)) {
      loops = scatter->loops;
    }
    double work = 1;
    for (const Loop& loop : loops) {
      KW_TRY(const std::int64_t extent, loop.extent.evaluate(sizes));
      work *= static_cast<double>(extent);
    }
    sum += work;
  }
  return sum;
}

Result<Json> answer(const std::string& line) {
  KW_TRY(const Json request, parse_json(line));
  KW_TRY(ObjectReader reader, ObjectReader::make(request, ""));
  KW_TRY(const std::string graph, reader.string("graph"));
  KW_TRY(const Program program, program_of(graph));
  KW_TRY(const Json* given, reader.get("sizes"));
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [name, value] : given->items()) sizes[name] = value.get<std::int64_t>();
  KW_TRY(const double work, work_of(program, sizes));
  KW_TRY(const double most_work, reader.number_or("most_work", 1e18));
  if (work > most_work) return Json{{"work", work}, {"steps", program.steps.size()}};
  KW_TRY(const std::string input_path, reader.string("inputs"));
  KW_TRY(const auto inputs, inputs_of(program, input_path, sizes));
  KW_TRY(const bool rounding, reader.boolean_or("rounded", false));
  KW_TRY(const auto outputs,
         interpret(program, inputs, sizes, rounding ? Rounding::kDtype : Rounding::kNone));
  KW_TRY(const std::string output_path, reader.string("outputs"));
  std::ofstream file(output_path, std::ios::binary);
  Json counts = Json::array();
  for (const auto& output : outputs) {
    file.write(reinterpret_cast<const char*>(output.data()),
               static_cast<std::streamsize>(output.size() * sizeof(double)));
    counts.push_back(output.size());
  }
  if (!file.flush()) return fail(ErrorCode::kInternal, "{}: cannot be written", output_path);
  return Json{{"counts", counts}, {"steps", program.steps.size()}};
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) return fail(ErrorCode::kInternal, "{}: cannot be written", path);
  return {};
}

// Those of the labels; without one, every strategy's usual kernel.
Result<Json> kernels(const std::string& path, const std::string& folder,
                     const std::set<std::string>& axes, std::vector<std::string> labels) {
  KW_TRY(const std::string text, whole_file(path));
  KW_TRY(const Graph graph, graph_from_json(text, path));
  KW_TRY(const task::Signature signature, signature_of(graph, axes, graph.sizes));
  KW_TRY_STATUS(write_file(folder + "/problem.h", task::problem_header(signature, false)));
  KW_TRY_STATUS(write_file(folder + "/kw_call.h", task::call_shim(signature, false)));
  Json names = Json::array();
  if (labels.empty()) {
    for (const std::string_view one : strategies(task::Language::kCpp)) labels.emplace_back(one);
  }
  for (const std::string& label : labels) {
    const auto known = parse_label(label);
    if (!known) return fail(ErrorCode::kInvalidArgument, "{}: no strategy", label);
    KW_TRY(const Draft draft,
           write_kernel(graph, signature, task::Language::kCpp, known->strategy, known->tuning));
    KW_TRY_STATUS(write_file(fmt::format("{}/{}.cpp", folder, label), draft.source));
    names.push_back(label);
  }
  return Json{{"strategies", names}};
}

int main_of(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "text") {
    const auto program = program_of(arguments[1]);
    std::cout << (program ? to_text(*program) : program.error().message() + "\n");
    return program ? 0 : 2;
  }
  if (arguments.size() == 1 && arguments[0] == "run") {
    for (std::string line; std::getline(std::cin, line);) {
      const auto out = answer(line);
      std::cout << (out ? *out : Json{{"error", out.error().message()}}).dump() << "\n"
                << std::flush;
    }
    return 0;
  }
  if (arguments.size() >= 3 && arguments[0] == "kernels") {
    const auto labels = std::find(arguments.begin() + 3, arguments.end(), "--");
    const auto out = kernels(arguments[1], arguments[2], {arguments.begin() + 3, labels},
                             {labels == arguments.end() ? labels : labels + 1, arguments.end()});
    std::cout << (out ? *out : Json{{"error", out.error().message()}}).dump() << "\n" << std::flush;
    return out ? 0 : 1;
  }
  std::cerr
      << "usage: kw_writer_probe text GRAPH | run | kernels GRAPH FOLDER [AXIS ..] [-- LABEL ..]\n";
  return 2;
}

}  // namespace
}  // namespace kw::writer

int main(int count, char** arguments) {
  return kw::writer::main_of({arguments + 1, arguments + count});
}
