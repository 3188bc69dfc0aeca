// The kernels that the writer makes of graphs, beside interpret() in float64:
//   kw_writer_kernels CASES.jsonl FOLDER [--label LABEL | --drawn] [--choices] [CASE ...]
// A case a line, as loops_equality.py --dump writes them: {"name", "graph", "sets": [{"sizes",
// "kinds"}], "tolerance", "rounded"}. Every strategy of every case, the kernel of this label
// ("blocked lanes=128"), or (--drawn) the preferred strategy and one of the others, another for
// each case, is compiled with the gym's flags, many kernels in one file, and run at every size set.
// --choices: so is each choice's least and largest value, for the first case whose kernel it
// changes. One line a kernel that is not there or gives other results; the exit code is 1 then, and
// 77 without a compiler.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include <dlfcn.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/text.h"
#include "graph_signature.h"
#include "tensor/half.h"
#include "writer/author/author.h"
#include "writer/loops/loops.h"

namespace kw::writer {
namespace {

constexpr std::size_t kKernelsAFile = 24;
constexpr const char* kFlags =
    "-std=c++20 -O3 -march=native -fno-math-errno -fno-trapping-math -fopenmp -fPIC -shared "
    "-fmax-errors=20";

struct SizeSet {
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::string> kinds;  // of the inputs: "float32", "positive", "index:12"
};

struct Case {
  std::string name;
  Graph graph;
  std::vector<SizeSet> sets;
  double tolerance = 0;
  bool rounded = false;  // intermediate results count as of their dtype
};

struct Kernel {
  const Case* of = nullptr;
  std::string label, symbol, text;
};

using Values = std::vector<std::vector<double>>;

Result<Case> case_of(const std::string& line) {
  KW_TRY(const Json value, parse_json(line));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "case"));
  Case out;
  KW_TRY(out.name, reader.string("name"));
  KW_TRY(const Json* graph, reader.get("graph"));
  KW_TRY(out.graph, graph_from_json(graph->dump(), out.name));
  KW_TRY(out.tolerance, reader.number("tolerance"));
  KW_TRY(out.rounded, reader.boolean("rounded"));
  KW_TRY(const Json* sets, reader.get("sets"));
  for (const Json& set : *sets)
    out.sets.push_back({set.at("sizes").get<std::map<std::string, std::int64_t>>(),
                        set.at("kinds").get<std::vector<std::string>>()});
  return out;
}

// ---- inputs ----
double drawn(std::mt19937_64& random, const std::string& kind, tensor::DType dtype) {
  std::normal_distribution<double> normal;
  if (kind.starts_with("index:"))
    return static_cast<double>(random() % std::stoull(kind.substr(6)));
  if (dtype == tensor::DType::kBool) return random() % 5 < 3 ? 1 : 0;
  if (!tensor::is_floating(dtype)) {
    const double value = static_cast<double>(random() % 100);
    return dtype == tensor::DType::kUInt8 ? value : value - 50;
  }
  if (kind == "positive") return std::abs(normal(random)) + 0.1;
  if (kind == "unit") return static_cast<double>(random() % 1000) / 1020 + 0.01;
  if (kind == "ties") return std::nearbyint(normal(random) * 2);
  return normal(random);
}

bool is_half(tensor::DType dtype) {
  return tensor::is_floating(dtype) && tensor::size_of(dtype) < sizeof(float);
}

double rounded_to(tensor::DType dtype, double value) {
  if (dtype == tensor::DType::kFloat32) return static_cast<float>(value);
  return is_half(dtype) ? tensor::round_to(dtype, static_cast<float>(value)) : value;
}

// ---- memory of a call ----
template <typename T>
void put_as(std::vector<std::byte>& bytes, const std::vector<double>& values) {
  auto* out = reinterpret_cast<T*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i] = static_cast<T>(static_cast<std::int64_t>(values[i]));
}

template <typename T>
void get_as(const std::vector<std::byte>& bytes, std::vector<double>& values) {
  const auto* in = reinterpret_cast<const T*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(in[i]);
}

// With 64 readable bytes behind it, as problem.h promises.
std::vector<std::byte> memory_of(tensor::DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> out(values.size() * tensor::size_of(dtype) + 64);
  if (dtype == tensor::DType::kFloat64) {
    std::copy(values.begin(), values.end(), reinterpret_cast<double*>(out.data()));
  } else if (tensor::is_floating(dtype)) {
    const std::vector<float> narrow(values.begin(), values.end());
    tensor::store(dtype, narrow, 0, out);
  } else if (tensor::size_of(dtype) == 8) {
    put_as<std::int64_t>(out, values);
  } else if (tensor::size_of(dtype) == 4) {
    put_as<std::int32_t>(out, values);
  } else if (tensor::size_of(dtype) == 2) {
    put_as<std::int16_t>(out, values);
  } else {
    put_as<std::uint8_t>(out, values);
  }
  return out;
}

std::vector<double> values_of(tensor::DType dtype, const std::vector<std::byte>& memory,
                              std::size_t count) {
  std::vector<double> out(count);
  tensor::load(dtype, memory, 0, out);
  return out;
}

std::size_t elements(const TensorType& type, const std::map<std::string, std::int64_t>& sizes) {
  std::size_t out = 1;
  for (const IntExpr& each : type.shape)
    out *= static_cast<std::size_t>(each.evaluate(sizes).value_or(0));
  return out;
}

Values inputs_of(const Case& one, const SizeSet& set) {
  std::mt19937_64 random(7);
  Values out;
  for (std::size_t i = 0; i < one.graph.inputs.size(); ++i) {
    const TensorType& type = one.graph.inputs[i].type;
    std::vector<double>& values = out.emplace_back(elements(type, set.sizes));
    for (double& value : values)
      value = rounded_to(type.dtype, drawn(random, set.kinds.at(i), type.dtype));
  }
  return out;
}

using Call = void (*)(void* state, void* const* arguments);

Values outputs_of(const Case& one, const SizeSet& set, const task::Signature& signature,
                  const Values& inputs, Call call) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    memory.push_back(memory_of(one.graph.inputs[i].type.dtype, inputs[i]));
  std::vector<std::size_t> counts;
  for (const ValueId& id : one.graph.outputs) {
    const TensorType& type = one.graph.type(id);
    counts.push_back(elements(type, set.sizes));
    memory.emplace_back(counts.back() * tensor::size_of(type.dtype) + 64, std::byte{0x5a});
  }
  for (const auto& axis : signature.axes) axes.push_back(set.sizes.at(axis.first));
  std::vector<void*> arguments;
  for (auto& each : memory) arguments.push_back(each.data());
  for (std::int64_t& axis : axes) arguments.push_back(&axis);
  call(nullptr, arguments.data());
  Values out;
  for (std::size_t i = 0; i < counts.size(); ++i)
    out.push_back(values_of(one.graph.type(one.graph.outputs[i]).dtype, memory[inputs.size() + i],
                            counts[i]));
  return out;
}

double largest_of(const std::vector<double>& values) {
  double out = 1;
  for (double value : values) {
    if (std::isfinite(value)) out = std::max(out, std::abs(value));
  }
  return out;
}

bool near(double got, double want, double tolerance, double scale) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::abs(got - want) <= tolerance * (std::abs(want) + scale);
}

// Empty: nothing.
std::string difference(const Case& one, const Values& got, const Values& want) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    const tensor::DType dtype = one.graph.type(one.graph.outputs[k]).dtype;
    const double scale = largest_of(want[k]);
    const double usual = is_half(dtype) ? 0.02 : tensor::is_floating(dtype) ? 2e-5 : 0;
    const double tolerance = tensor::is_floating(dtype) ? std::max(one.tolerance, usual) : 0;
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < want[k].size(); ++i) {
      const double expected = one.rounded ? want[k][i] : rounded_to(dtype, want[k][i]);
      if (near(got[k][i], expected, tolerance, scale)) continue;
      if (wrong++ == 0) first = i;
    }
    if (wrong > 0)
      return fmt::format("output {}: {} of {} wrong, the first at {}: {} instead of {}", k, wrong,
                         want[k].size(), first, got[k][first], want[k][first]);
  }
  return {};
}

std::set<std::string> all_sizes(const Graph& graph) {
  std::set<std::string> out;
  for (const auto& [name, value] : graph.sizes) out.insert(name);
  return out;
}

// ---- kernels as one file ----
std::string without_lines(const std::string& text, std::string_view start) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (!std::string_view(line).starts_with(start)) out += line + "\n";
  }
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.replace(at, from.size(), to);
}

// problem.h, the kernel and its call shim in a namespace: nothing in it has a C name.
Result<std::string> in_namespace(const Case& one, const Draft& draft, const std::string& symbol) {
  KW_TRY(const task::Signature signature,
         signature_of(one.graph, all_sizes(one.graph), one.sets.front().sizes));
  std::string text =
      task::problem_header(signature, false) + task::call_shim(signature, false) + draft.source;
  text = without_lines(without_lines(text, "#include"), "#pragma once");
  replace_all(text, "extern \"C\" void run", "void run");
  replace_all(text, "extern \"C\" void kw_call", "void kw_call");
  return fmt::format(
      "// {}: {}\nnamespace {} {{\n{}}}\nextern \"C\" void call_{}(void* state, void* const* a) "
      "{{ {}::kw_call(state, a); }}\n",
      one.name, label_of(draft.strategy, draft.tuning), symbol, text, symbol, symbol);
}

constexpr std::string_view kIncludes =
    "#include <algorithm>\n#include <bit>\n#include <cmath>\n#include <cstdint>\n#include "
    "<cstring>\n#include <limits>\n#include <memory>\n#include <numeric>\n#include "
    "<type_traits>\n#include <utility>\n#include <vector>\n#if defined(__SSE2__)\n#include "
    "<immintrin.h>\n#endif\n";

class Equality {
 public:
  explicit Equality(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void add(const Case& one, const Labelled& wanted) {
    const std::string label = label_of(wanted.strategy, wanted.tuning);
    const auto draft = drafted(one, wanted);
    if (!draft) return report(one, label, draft.error().message());
    const std::string symbol = fmt::format("k{}", kernels_.size());
    auto text = in_namespace(one, *draft, symbol);
    if (!text) return report(one, label, text.error().message());
    kernels_.push_back({&one, label, symbol, std::move(*text)});
  }

  // The preferred strategy's choices at both ends, each where it makes another kernel.
  void add_choices(const std::vector<Case>& cases) {
    const std::string strategy(strategies(task::Language::kCpp).front());
    for (const Choice& choice : choices(task::Language::kCpp, strategy)) {
      for (const int value : std::set<int>{choice.values.front(), choice.values.back()}) {
        if (value == choice.usual) continue;
        const Labelled wanted{strategy, {{choice.name, value}}};
        const auto found = std::find_if(cases.begin(), cases.end(), [&](const Case& one) {
          const auto usual = drafted(one, {strategy, {}}), other = drafted(one, wanted);
          return usual && other && usual->source != other->source;
        });
        if (found != cases.end()) {
          add(*found, wanted);
          continue;
        }
        ++wrong_;
        std::cout << fmt::format("{}={} changes no case's kernel\n", choice.name, value);
      }
    }
  }

  // Files are compiled two at a time.
  void run() {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    for (std::size_t i = 0; i < kernels_.size(); i += kKernelsAFile)
      parts.emplace_back(i, std::min(kernels_.size(), i + kKernelsAFile));
    for (std::size_t p = 0; p < parts.size(); p += 2) {
      std::vector<std::filesystem::path> made;
      std::string command;
      for (std::size_t k = p; k < std::min(parts.size(), p + 2); ++k) {
        made.push_back(write_part(k, parts[k].first, parts[k].second));
        const std::string source = made.back().string();
        command += fmt::format("{} {} -o {}.so {} > {}.log 2>&1 & ", compiler(), kFlags, source,
                               source, source);
      }
      if (std::system((command + "wait").c_str()) != 0) std::cerr << "no shell\n";
      for (std::size_t k = 0; k < made.size(); ++k)
        check_part(made[k], parts[p + k].first, parts[p + k].second);
    }
  }

  std::size_t kernels() const { return kernels_.size(); }
  std::size_t wrong() const { return wrong_; }

  static std::string compiler() {
    const char* given = std::getenv("CXX");
    return given != nullptr ? given : "g++";
  }

 private:
  static Result<Draft> drafted(const Case& one, const Labelled& wanted) {
    KW_TRY(const task::Signature signature,
           signature_of(one.graph, all_sizes(one.graph), one.sets.front().sizes));
    return write_kernel(one.graph, signature, task::Language::kCpp, wanted.strategy, wanted.tuning);
  }

  void report(const Case& one, std::string_view label, const std::string& what) {
    ++wrong_;
    std::cout << fmt::format("{} [{}]: {}\n", one.name, label, what) << std::flush;
  }

  std::filesystem::path write_part(std::size_t number, std::size_t first, std::size_t last) {
    std::filesystem::path path = folder_ / fmt::format("kernels{}.cpp", number);
    std::filesystem::remove(path.string() + ".so");
    std::ofstream file(path);
    file << kIncludes;
    for (std::size_t i = first; i < last; ++i) file << kernels_[i].text;
    return path;
  }

  void check_part(const std::filesystem::path& source, std::size_t first, std::size_t last) {
    void* library = dlopen((source.string() + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      ++wrong_;
      std::ifstream log(source.string() + ".log");
      std::cout << source.string() << " does not compile or load: " << dlerror() << "\n"
                << log.rdbuf() << std::flush;
      return;
    }
    for (std::size_t i = first; i < last; ++i) {
      void* symbol = dlsym(library, ("call_" + kernels_[i].symbol).c_str());
      check(kernels_[i], reinterpret_cast<Call>(symbol));
    }
    dlclose(library);
  }

  // In a process of its own: a kernel may crash.
  void check(const Kernel& kernel, Call call) {
    std::cout << std::flush;
    const pid_t child = fork();
    if (child == 0) {
      const std::string wrong = compared(kernel, call);
      if (!wrong.empty())
        std::cout << fmt::format("{} [{}]: {}\n", kernel.of->name, kernel.label, wrong)
                  << std::flush;
      std::_Exit(wrong.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      report(*kernel.of, kernel.label, fmt::format("signal {}", WTERMSIG(status)));
    } else if (status != 0) {
      ++wrong_;
    }
  }

  static std::string compared(const Kernel& kernel, Call call) {
    const Case& one = *kernel.of;
    const auto program = lower(one.graph);
    if (!program) return program.error().message();
    for (std::size_t s = 0; s < one.sets.size(); ++s) {
      const SizeSet& set = one.sets[s];
      const Values inputs = inputs_of(one, set);
      const auto signature = signature_of(one.graph, all_sizes(one.graph), set.sizes);
      if (!signature) return signature.error().message();
      const auto want =
          interpret(*program, inputs, set.sizes, one.rounded ? Rounding::kDtype : Rounding::kNone);
      if (!want) return want.error().message();
      const std::string wrong =
          difference(one, outputs_of(one, set, *signature, inputs, call), *want);
      if (!wrong.empty()) return fmt::format("size set {}: {}", s, wrong);
    }
    return {};
  }

  std::filesystem::path folder_;
  std::vector<Kernel> kernels_;
  std::size_t wrong_ = 0;
};

struct Options {
  std::vector<std::string> plain;  // cases' file, folder, names
  std::optional<Labelled> label;
  bool drawn = false, choices = false;
};

std::optional<Options> options_of(const std::vector<std::string>& arguments) {
  Options out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--label" && i + 1 < arguments.size()) {
      out.label = parse_label(arguments[++i]);
      if (!out.label) return std::nullopt;
    } else if (arguments[i] == "--drawn") {
      out.drawn = true;
    } else if (arguments[i] == "--choices") {
      out.choices = true;
    } else {
      out.plain.push_back(arguments[i]);
    }
  }
  if (out.plain.size() < 2) return std::nullopt;
  return out;
}

// Of the case at this place.
std::vector<Labelled> labels_for(std::size_t place, const Options& options) {
  if (options.label) return {*options.label};
  std::vector<Labelled> out;
  for (const std::string_view one : strategies(task::Language::kCpp))
    out.push_back({std::string(one), {}});
  if (options.drawn) out = {out.front(), out[1 + place % (out.size() - 1)]};
  return out;
}

int main_of(const std::vector<std::string>& arguments) {
  const auto options = options_of(arguments);
  if (!options) {
    std::cerr << "usage: kw_writer_kernels CASES.jsonl FOLDER [--label LABEL | --drawn] "
                 "[--choices] [CASE ...]\n";
    return 2;
  }
  const std::vector<std::string>& plain = options->plain;
  if (std::system((Equality::compiler() + " --version > /dev/null 2>&1").c_str()) != 0) return 77;
  std::filesystem::create_directories(plain[1]);
  const std::set<std::string> names(plain.begin() + 2, plain.end());
  std::ifstream file(plain[0]);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    auto one = case_of(line);
    if (!one) {
      std::cerr << one.error().message() << "\n";
      return 2;
    }
    if (names.empty() || names.contains(one->name)) cases.push_back(std::move(*one));
  }
  Equality equality(plain[1]);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const Labelled& label : labels_for(i, *options)) equality.add(cases[i], label);
  }
  if (options->choices) equality.add_choices(cases);
  equality.run();
  std::cout << fmt::format("{} cases, {} kernels, {} wrong\n", cases.size(), equality.kernels(),
                           equality.wrong());
  return equality.wrong() == 0 && equality.kernels() > 0 ? 0 : 1;
}

}  // namespace
}  // namespace kw::writer

int main(int count, char** arguments) {
  return kw::writer::main_of({arguments + 1, arguments + count});
}
