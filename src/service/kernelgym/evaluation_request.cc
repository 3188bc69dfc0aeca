#include "service/kernelgym/evaluation_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "task/candidate_source.h"
#include "task/kernelbench.h"
#include "text/enum_names.h"
#include "text/names.h"

namespace kw::service::kernelgym {
namespace {

constexpr auto kBackends =
    text::enum_names<Backend>({{Backend::kTriton, "triton"}, {Backend::kCuda, "cuda"}});

constexpr const char* kKernelSimple = "kernel_simple";

struct Range {
  std::int64_t low, high;
};

std::int64_t characters_of(const std::string& text) {
  return std::ranges::count_if(text,
                               [](char c) { return (static_cast<unsigned>(c) & 0xC0U) != 0x80U; });
}

// Reads one field after another; the first mistake stays.
class Fields {
 public:
  explicit Fields(ObjectReader& reader) : reader_(reader) {}

  void text(const char* key, std::string& out) { set(key, out, reader_.string_or(key, out)); }
  void text(const char* key, std::string& out, Range characters) {
    text(key, out);
    const std::int64_t count = characters_of(out);
    if (reader_.find(key) != nullptr && status_ &&
        (count < characters.low || count > characters.high))
      status_ = fail(ErrorCode::kInvalidArgument, "{}: {} characters, not {} to {}",
                     reader_.path(key), count, characters.low, characters.high);
  }
  void word(const char* key, std::string& out, const std::vector<std::string>& known) {
    text(key, out);
    if (status_ && std::ranges::find(known, out) == known.end())
      status_ = fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not one of {}", reader_.path(key),
                     printable(out, 40), join(known, ", "));
  }
  template <typename Enum, std::size_t N>
  void word(const char* key, Enum& out, const text::EnumNames<Enum, N>& known) {
    std::string name(known.name(out));
    word(key, name, known.names());
    if (status_) out = known.value(name).value_or(out);
  }
  void number(const char* key, std::int64_t& out, Range range) {
    set(key, out, reader_.integer_or(key, out));
    if (status_ && (out < range.low || out > range.high))
      status_ = fail(ErrorCode::kInvalidArgument, "{}: {} is not within {} to {}",
                     reader_.path(key), out, range.low, range.high);
  }
  void flag(const char* key, bool& out) { set(key, out, reader_.boolean_or(key, out)); }
  void need(const char* key) {
    if (status_ && reader_.find(key) == nullptr)
      status_ = fail(ErrorCode::kInvalidArgument, "{}: missing", reader_.path(key));
  }
  const Status& status() const { return status_; }

 private:
  template <typename T>
  void set(const char*, T& out, Result<T> read) {
    if (!status_) return;
    if (read) {
      out = std::move(*read);
    } else {
      status_ = tl::unexpected(std::move(read.error()));
    }
  }

  ObjectReader& reader_;
  Status status_;
};

Status check_resources(ObjectReader& reader) {
  const Json* resources = reader.find("resources");
  if (resources == nullptr) return {};
  KW_TRY(ObjectReader inner, ObjectReader::make(*resources, reader.path("resources")));
  KW_TRY(const std::int64_t gpus, inner.integer_or("gpus", 1));
  if (gpus < 1)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is less than 1", inner.path("gpus"), gpus);
  return {};
}

SourceCheck check_class(const std::string& code, const std::string& entry_point) {
  SourceCheck out{.entry_point = entry_point};
  if (code.empty()) {
    out.error = "Code is required";
  } else if (code.find("class " + entry_point) == std::string::npos) {
    out.error = fmt::format("Code must contain a '{}' class", printable(entry_point, 100));
  }
  out.is_valid = out.error.empty();
  return out;
}

// The kernel's class of a workflow without a reference.
std::string simple_entry(const EvaluationRequest& request) {
  return request.entry_point == "Model" &&
                 request.kernel_code.find("class ModelNew") != std::string::npos
             ? "ModelNew"
             : request.entry_point;
}

Result<task::Target> target_of(const EvaluationRequest& request) {
  const std::string& wanted = request.device_preference;
  if (wanted == to_string(task::Target::kCpu)) return task::Target::kCpu;
  if (wanted.empty() || wanted.starts_with(to_string(task::Target::kCuda)))
    return task::Target::kCuda;
  return fail(ErrorCode::kUnsupported,
              "device_preference: \"{}\": there are cpu, and cuda with or without a number",
              printable(wanted, 40));
}

Result<gym::Baseline> baseline_of(const EvaluationRequest& request) {
  const std::string& wanted = request.reference_backend;
  if (wanted.empty() || wanted == "eager") return gym::Compilation::kNone;
  for (const char* known : {"torch_compile", "torch-compile", "compile"})
    if (wanted == known) return gym::Compilation::kDefault;
  return fail(ErrorCode::kUnsupported,
              "reference_backend: \"{}\": there are torch_compile and none", printable(wanted, 40));
}

}  // namespace

std::string_view to_string(Backend backend) {
  return kBackends.name(backend);
}

Result<EvaluationRequest> evaluation_request_from_json(const Json& value,
                                                       const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  EvaluationRequest out;
  Fields fields(reader);
  constexpr Range kCode{10, 100000};
  fields.need("task_id");
  fields.text("task_id", out.task_id, {1, 100});
  fields.need("kernel_code");
  fields.text("kernel_code", out.kernel_code, kCode);
  fields.text("reference_code", out.reference_code, kCode);
  fields.word("workflow", out.workflow, {"kernelbench", kKernelSimple});
  fields.text("toolkit", out.toolkit);
  fields.text("backend_adapter", out.backend_adapter);
  fields.word("backend", out.backend, kBackends);
  fields.word("priority", out.priority, {"low", "normal", "high"});
  fields.text("device_preference", out.device_preference);
  fields.text("entry_point", out.entry_point);
  fields.text("reference_backend", out.reference_backend);
  fields.number("num_correct_trials", out.num_correct_trials, {1, 20});
  fields.number("num_perf_trials", out.num_perf_trials, {1, 1000});
  fields.number("num_warmup", out.num_warmup, {0, 100});
  fields.number("timeout", out.timeout, {10, 3600});
  fields.flag("force_refresh", out.force_refresh);
  fields.flag("measure_performance", out.measures);
  fields.flag("run_performance", out.measures);
  // These are read so that a wrong kind is refused; what they ask for is always done, or never.
  bool unused = false;
  for (const char* key : {"use_reference_cache", "is_valid", "verbose_errors", "enable_profiling",
                          "enable_triton_detection", "run_correctness", "run_triton_detection"})
    fields.flag(key, unused);
  std::string text;
  for (const char* key : {"uuid", "cases_code"}) fields.text(key, text);
  if (out.workflow == "kernelbench") fields.need("reference_code");
  KW_TRY_STATUS(fields.status());
  KW_TRY_STATUS(check_resources(reader));
  return out;
}

SourceCheck check_reference(const EvaluationRequest& request) {
  return check_class(request.reference_code, request.entry_point);
}

SourceCheck check_kernel(const EvaluationRequest& request) {
  return check_class(request.kernel_code, request.workflow == kKernelSimple
                                              ? simple_entry(request)
                                              : request.entry_point + "New");
}

std::vector<std::string> workflow_errors(const EvaluationRequest& request) {
  std::vector<std::string> out;
  const auto note = [&](const char* what, const SourceCheck& check) {
    if (!check.is_valid)
      out.push_back(fmt::format("{} code validation failed: {}", what, check.error));
  };
  if (request.workflow != kKernelSimple) note("Reference", check_reference(request));
  note("Kernel", check_kernel(request));
  return out;
}

Result<gym::EvalRequest> to_eval_request(const EvaluationRequest& request) {
  if (request.workflow == kKernelSimple)
    return fail(
        ErrorCode::kUnsupported,
        "workflow kernel_simple: fixed cases have no reference to draw fresh inputs for, and "
        "without those this server judges nothing; use kernelbench with reference_code");
  gym::EvalRequest out;
  KW_TRY(out.options.target, target_of(request));
  KW_TRY(out.options.baseline, baseline_of(request));
  if (request.backend == Backend::kCuda && out.options.target == task::Target::kCuda)
    return fail(ErrorCode::kUnsupported,
                "backend cuda: no worker of this server runs Python with CUDA extensions on a GPU; "
                "use backend triton, or POST /v1/tasks with CUDA C++ and launch descriptors");
  if (!text::is_identifier(request.entry_point))
    return fail(ErrorCode::kInvalidArgument, "entry_point: \"{}\" is not a class name",
                printable(request.entry_point, 80));
  KW_TRY(task::Module module, task::make_module(request.reference_code, request.entry_point, {}));
  out.problem = task::module_problem(request.entry_point, std::move(module), "reference_code");
  KW_TRY(out.candidate, task::candidate_from_source("kernel.py", request.kernel_code,
                                                    request.backend == Backend::kTriton
                                                        ? task::Language::kTriton
                                                        : task::Language::kPython));
  out.candidate.entry_function = request.entry_point + "New";
  out.candidate.hash = task::candidate_hash(out.candidate);
  out.options.timing = request.measures;
  out.options.max_seconds = std::min(out.options.max_seconds, static_cast<double>(request.timeout));
  out.priority = request.priority == "high" ? 1 : request.priority == "low" ? -1 : 0;
  out.trajectory = request.task_id;
  return out;
}

}  // namespace kw::service::kernelgym
