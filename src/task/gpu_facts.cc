// Facts of a GPU's judgement: names, sums, JSON.
#include "task/gpu_facts.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "text/enum_names.h"

namespace kw::task {
namespace {

constexpr double kMaxMs = 1e12;
constexpr double kMaxRate = 1e21;  // bytes or operations a second
constexpr std::int64_t kMaxCount = std::int64_t{1} << 50;
constexpr double kMsOfSecond = 1e3;

constexpr auto kGpuContexts = text::enum_names<GpuContext>({
    {GpuContext::kFresh, "fresh"},
    {GpuContext::kResident, "resident"},
});

constexpr auto kOrigins = text::enum_names<KernelOrigin>({
    {KernelOrigin::kOwn, "own"},
    {KernelOrigin::kLibrary, "library"},
    {KernelOrigin::kMover, "mover"},
});

tl::unexpected<Error> not_in(const std::string& where, std::string_view key, double most) {
  return fail(ErrorCode::kInvalidArgument, "{}.{}: expected a number from 0 to {}", where, key,
              most);
}

Status check_number(double value, const std::string& where, std::string_view key, double most) {
  if (value >= 0 && value <= most) return {};
  return not_in(where, key, most);
}

Status check_count(std::int64_t value, const std::string& where, std::string_view key) {
  if (value >= 0 && value <= kMaxCount) return {};
  return not_in(where, key, static_cast<double>(kMaxCount));
}

Status check(const GpuKernel& kernel, const std::string& where) {
  KW_TRY_STATUS(check_number(kernel.ms, where, "ms", kMaxMs));
  KW_TRY_STATUS(check_number(kernel.occupancy, where, "occupancy", 1));
  KW_TRY_STATUS(check_count(kernel.launches, where, "launches"));
  KW_TRY_STATUS(check_count(kernel.registers, where, "registers"));
  KW_TRY_STATUS(check_count(kernel.local_bytes, where, "local_bytes"));
  KW_TRY_STATUS(check_count(kernel.shared_bytes, where, "shared_bytes"));
  return check_count(kernel.threads, where, "threads");
}

Status check(const GpuCall& call, const std::string& where) {
  for (const GpuKernel& kernel : call.kernels) KW_TRY_STATUS(check(kernel, where + ".kernels"));
  KW_TRY_STATUS(check_number(call.other_ms, where, "other_ms", kMaxMs));
  return check_count(call.other_steps, where, "other_steps");
}

Status check(const GpuRoofline& roofline, const std::string& where) {
  KW_TRY_STATUS(check_count(roofline.bytes, where, "bytes"));
  if (roofline.flops < 0) return not_in(where, "flops", 9e18);
  KW_TRY_STATUS(check_number(roofline.bytes_per_second, where, "bytes_per_second", kMaxRate));
  return check_number(roofline.flops_per_second, where, "flops_per_second", kMaxRate);
}

Json to_json(const GpuKernel& kernel) {
  return {{"name", kernel.name},
          {"origin", to_string(kernel.origin)},
          {"launches", kernel.launches},
          {"ms", kernel.ms},
          {"registers", kernel.registers},
          {"local_bytes", kernel.local_bytes},
          {"shared_bytes", kernel.shared_bytes},
          {"threads", kernel.threads},
          {"occupancy", kernel.occupancy}};
}

Json to_json(const GpuCall& call) {
  Json kernels = Json::array();
  for (const GpuKernel& kernel : call.kernels) kernels.push_back(to_json(kernel));
  return {{"kernels", std::move(kernels)},
          {"other_steps", call.other_steps},
          {"other_ms", call.other_ms}};
}

Json to_json(const GpuRoofline& roofline, std::optional<double> candidate_ms) {
  Json out = {{"bytes", roofline.bytes},
              {"flops", roofline.flops},
              {"bytes_per_second", roofline.bytes_per_second},
              {"flops_per_second", roofline.flops_per_second},
              {"precision", roofline.precision},
              {"least_ms", roofline.least_ms()},
              {"limit", roofline.limit()}};
  if (candidate_ms && *candidate_ms > 0) out["share"] = roofline.least_ms() / *candidate_ms;
  return out;
}

Result<GpuKernel> kernel_from(ObjectReader& reader) {
  GpuKernel out;
  KW_TRY(out.name, reader.string("name"));
  KW_TRY(std::string origin, reader.string("origin"));
  auto known = kernel_origin_from_string(origin);
  if (!known)
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no origin", reader.path("origin"),
                printable(origin, 60));
  out.origin = *known;
  KW_TRY(out.launches, reader.integer("launches"));
  KW_TRY(out.ms, reader.number("ms"));
  KW_TRY(out.registers, reader.integer("registers"));
  KW_TRY(out.local_bytes, reader.integer("local_bytes"));
  KW_TRY(out.shared_bytes, reader.integer("shared_bytes"));
  KW_TRY(out.threads, reader.integer("threads"));
  KW_TRY(out.occupancy, reader.number("occupancy"));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<GpuCall> call_from(ObjectReader& reader) {
  GpuCall out;
  KW_TRY(const Json* kernels, reader.get("kernels"));
  if (!kernels->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path("kernels"));
  for (const Json& kernel : *kernels) {
    KW_TRY(ObjectReader object, ObjectReader::make(kernel, reader.path("kernels")));
    KW_TRY(out.kernels.emplace_back(), kernel_from(object));
  }
  KW_TRY(out.other_steps, reader.integer("other_steps"));
  KW_TRY(out.other_ms, reader.number("other_ms"));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<GpuRoofline> roofline_from(ObjectReader& reader) {
  GpuRoofline out;
  KW_TRY(out.bytes, reader.integer("bytes"));
  KW_TRY(out.flops, reader.integer("flops"));
  KW_TRY(out.bytes_per_second, reader.number("bytes_per_second"));
  KW_TRY(out.flops_per_second, reader.number("flops_per_second"));
  KW_TRY(out.precision, reader.string("precision"));
  for (std::string_view derived : {"least_ms", "limit", "share"}) reader.find(derived);
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

template <typename T, typename Read>
Status optional_from(ObjectReader& reader, std::string_view key, std::optional<T>& out, Read read) {
  const Json* value = reader.find(key);
  if (value == nullptr) return {};
  KW_TRY(ObjectReader object, ObjectReader::make(*value, reader.path(key)));
  KW_TRY(out, read(object));
  return {};
}

Status bytes_from(ObjectReader& reader, std::string_view key, std::optional<std::int64_t>& out) {
  if (reader.find(key) == nullptr) return {};
  KW_TRY(out, reader.integer(key));
  return {};
}

}  // namespace

std::string_view to_string(GpuContext context) {
  return kGpuContexts.name(context);
}
std::optional<GpuContext> gpu_context_from_string(std::string_view name) {
  return kGpuContexts.value(name);
}
std::string_view to_string(KernelOrigin origin) {
  return kOrigins.name(origin);
}
std::optional<KernelOrigin> kernel_origin_from_string(std::string_view name) {
  return kOrigins.value(name);
}

double GpuCall::ms() const {
  double sum = other_ms;
  for (const GpuKernel& kernel : kernels) sum += kernel.ms;
  return sum;
}

std::int64_t GpuCall::steps() const {
  std::int64_t sum = other_steps;
  for (const GpuKernel& kernel : kernels) sum += kernel.launches;
  return sum;
}

double GpuRoofline::memory_ms() const {
  return bytes_per_second > 0 ? static_cast<double>(bytes) / bytes_per_second * kMsOfSecond : 0;
}

double GpuRoofline::compute_ms() const {
  return flops_per_second > 0 ? static_cast<double>(flops) / flops_per_second * kMsOfSecond : 0;
}

double GpuRoofline::least_ms() const {
  return std::max(memory_ms(), compute_ms());
}

std::string_view GpuRoofline::limit() const {
  return compute_ms() > memory_ms() ? "compute" : "memory";
}

std::optional<Coverage> coverage_of(const std::vector<const GpuCall*>& calls) {
  double own_ms = 0, all_ms = 0, own_steps = 0, all_steps = 0;
  for (const GpuCall* call : calls) {
    all_ms += call->ms();
    all_steps += static_cast<double>(call->steps());
    for (const GpuKernel& kernel : call->kernels) {
      if (kernel.origin != KernelOrigin::kOwn) continue;
      own_ms += kernel.ms;
      own_steps += static_cast<double>(kernel.launches);
    }
  }
  if (!(all_ms > 0 && all_steps > 0)) return std::nullopt;
  return Coverage{own_ms / all_ms, own_steps / all_steps};
}

Status check(const GpuFacts& facts, const std::string& where) {
  if (facts.call) KW_TRY_STATUS(check(*facts.call, where + ".call"));
  if (facts.candidate_bytes)
    KW_TRY_STATUS(check_count(*facts.candidate_bytes, where, "candidate_bytes"));
  if (facts.baseline_bytes)
    KW_TRY_STATUS(check_count(*facts.baseline_bytes, where, "baseline_bytes"));
  if (facts.roofline) KW_TRY_STATUS(check(*facts.roofline, where + ".roofline"));
  return {};
}

Json to_json(const GpuFacts& facts, std::optional<double> candidate_ms) {
  Json out = {{"context", to_string(facts.context)}};
  if (facts.call) out["call"] = to_json(*facts.call);
  if (facts.candidate_bytes) out["candidate_bytes"] = *facts.candidate_bytes;
  if (facts.baseline_bytes) out["baseline_bytes"] = *facts.baseline_bytes;
  if (facts.roofline) out["roofline"] = to_json(*facts.roofline, candidate_ms);
  return out;
}

Result<GpuFacts> gpu_facts_from(ObjectReader& reader) {
  GpuFacts out;
  KW_TRY(std::string name, reader.string("context"));
  auto context = gpu_context_from_string(name);
  if (!context) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no context", reader.path("context"),
                printable(name, 60));
  }
  out.context = *context;
  KW_TRY_STATUS(optional_from(reader, "call", out.call, call_from));
  KW_TRY_STATUS(bytes_from(reader, "candidate_bytes", out.candidate_bytes));
  KW_TRY_STATUS(bytes_from(reader, "baseline_bytes", out.baseline_bytes));
  KW_TRY_STATUS(optional_from(reader, "roofline", out.roofline, roofline_from));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check(out, reader.where()));
  return out;
}

}  // namespace kw::task
