// The supervisor's side of a build.
#include "gym/compile/compile.h"

#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "gym/compile/cubin.h"
#include "gym/compile/device_diagnostics.h"
#include "gym/compile/shared_object.h"
#include "gym/compile/triton_build.h"
#include "gym/cuda/plan_file.h"
#include "gym/protocol.h"
#include "os/memory.h"
#include "os/message.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxTritonText = 4096;

// A Triton role does it, which is told how to call the candidate.
bool runs_host_code(const CompilePlan& plan) {
  return plan.kind == ArtifactKind::kTritonKernels || plan.kind == ArtifactKind::kRecordedPlan;
}

Status send_request(const CompilePlan& plan, int control, int sources, int output) {
  Json files = Json::array();
  for (const task::SourceFile& file : plan.files) {
    files.push_back(Json{{"path", file.path}, {"size", file.content.size()}});
  }
  Json request = {{"op", "compile"},
                  {"fds", {"sources", "output"}},
                  {"files", std::move(files)},
                  {"artifact_limit", kMaxArtifactBytes}};
  if (runs_host_code(plan)) {
    request["setup"] = plan.setup;
  } else {
    request["commands"] = plan.commands;
    request["artifact"] = plan.artifact;
  }
  return os::send_message(control, request, {sources, output});
}

// Waits until the compiler closes its end; anything that it sends is read and ignored. False when
// the deadline passed first.
Result<bool> wait_for_end(const CompilerLink& link, Clock::time_point begin) {
  const int control = link.control;
  auto frozen = [&] { return link.frozen ? link.frozen() : std::chrono::nanoseconds(0); };
  const Clock::time_point deadline = begin + link.timeout - frozen();
  while (true) {
    const Clock::time_point now = Clock::now();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline + frozen() - now).count();
    if (left <= 0) return false;
    pollfd entry{control, POLLIN, 0};
    int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return fail_errno(errno, "cannot wait for the compiler");
    if (ready <= 0) continue;
    char ignored = 0;
    ssize_t got = ::recv(control, &ignored, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
    if (got < 0 && errno != EAGAIN && errno != EINTR) {
      return fail_errno(errno, "cannot wait for the compiler");
    }
  }
}

Result<std::string> read_at(int fd, std::size_t bytes, std::size_t offset) {
  std::string out(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    ssize_t got = ::pread(fd, out.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot read the compiler's output");
    if (got == 0) return fail(ErrorCode::kInternal, "the compiler's output is cut short");
    done += static_cast<std::size_t>(got);
  }
  return out;
}

// Triton's leaf says only what the author should read; g++ says more than that.
std::string told(const CompilePlan& plan, const std::string& log) {
  if (runs_host_code(plan)) return printable(trim(log), kMaxTritonText) + "\n";
  if (plan.kind == ArtifactKind::kDeviceCode) return device_diagnostics(log, plan.files);
  return compiler_diagnostics(log);
}

// The plan of a recording: it says what each module has.
Status check_recorded(std::string_view artifact) {
  KW_TRY(PlanContents contents, read_plan_file(artifact));
  for (std::size_t i = 0; i < contents.modules.size(); ++i) {
    KW_TRY(std::vector<CubinKernel> kernels, read_cubin(contents.modules[i]));
    KW_TRY_STATUS(check_launches(contents.plan, i, kernels));
  }
  return {};
}

Status check_artifact(const CompilePlan& plan, std::string_view artifact) {
  if (plan.kind == ArtifactKind::kRecordedPlan) return check_recorded(artifact);
  if (plan.kind == ArtifactKind::kSharedObject) return check_shared_object(artifact);
  if (plan.kind == ArtifactKind::kDeviceCode) {
    KW_TRY(std::vector<CubinKernel> kernels, read_cubin(artifact));
    return check_launches(*plan.launches, 0, kernels);
  }
  auto build = read_triton_build(artifact);
  return build ? Status() : tl::unexpected(std::move(build).error());
}

std::string failure_text(const CompilePlan& plan, const BuildHeader& header,
                         const std::string& log) {
  std::string text = told(plan, log);
  if (header.status == 1 && header.exit_code < 0) {
    text += fmt::format("the compiler was killed by signal {}\n", -header.exit_code);
  }
  if (text.empty()) text = "the compiler failed and said nothing\n";
  return text;
}

// A recorder's words come first in a verdict; one that was ended had no time for any.
std::string refusal_text(const CompilePlan& plan, const BuildHeader& header,
                         const std::string& log) {
  if (header.exit_code >= 0) return told(plan, log);
  return "host code looks into a tensor's memory, or its process ends\n" + told(plan, log);
}

// Reads the answer. The memory file stays writable for the other side, so everything is copied once
// and judged on the copy.
Result<BuildOutcome> read_answer(const CompilePlan& plan, int output, const std::string& log,
                                 BuildCache& cache) {
  BuildOutcome outcome;
  outcome.has_prepare = plan.has_prepare;
  KW_TRY(std::string raw, read_at(output, sizeof(BuildHeader), 0));
  BuildHeader header{};
  std::memcpy(&header, raw.data(), sizeof header);
  if (header.magic != BuildHeader::kMagic) {
    outcome.diagnostics = "the compiler ended without an answer\n" + told(plan, log);
    return outcome;
  }
  if (header.status == 3 || header.artifact_bytes > kMaxArtifactBytes) {
    outcome.status = BuildStatus::kTooLarge;
    outcome.diagnostics =
        fmt::format("the artefact is larger than {}\n", format_bytes(kMaxArtifactBytes));
    return outcome;
  }
  if (header.status == 4) {
    outcome.status = BuildStatus::kRefused;
    outcome.diagnostics = refusal_text(plan, header, log);
    return outcome;
  }
  if (header.status != 0) {
    outcome.diagnostics = failure_text(plan, header, log);
    return outcome;
  }
  KW_TRY(std::string artifact, read_at(output, header.artifact_bytes, sizeof header));
  if (auto valid = check_artifact(plan, artifact); !valid) {
    outcome.diagnostics = valid.error().message() + "\n";
    return outcome;
  }
  // A full disk costs the next evaluation a build, not this one its verdict.
  if (auto stored = cache.insert(plan.key, artifact); !stored) {
    log::warning("build cache: " + stored.error().message());
  }
  KW_TRY(outcome.artifact, os::make_sealed_file("build", artifact));
  outcome.status = BuildStatus::kBuilt;
  return outcome;
}

}  // namespace

Result<std::optional<BuildOutcome>> find_build(const CompilePlan& plan, BuildCache& cache) {
  KW_TRY(std::optional<os::UniqueFd> artifact, cache.find(plan.key));
  if (!artifact) return std::nullopt;
  BuildOutcome outcome;
  outcome.status = BuildStatus::kBuilt;
  outcome.artifact = std::move(*artifact);
  outcome.has_prepare = plan.has_prepare;
  outcome.cached = true;
  return std::optional<BuildOutcome>(std::move(outcome));
}

Result<BuildOutcome> run_compile(const CompilePlan& plan, const CompilerLink& link,
                                 BuildCache& cache) {
  std::string text;
  text.reserve(plan.source_bytes());
  for (const task::SourceFile& file : plan.files) text += file.content;
  KW_TRY(os::UniqueFd sources, os::make_sealed_file("sources", text));
  KW_TRY(os::UniqueFd output,
         os::make_memory_file("output", sizeof(BuildHeader) + kMaxArtifactBytes));
  KW_TRY_STATUS(os::seal_seals(output.get()));
  Clock::time_point begin = Clock::now();
  auto sent = send_request(plan, link.control, sources.get(), output.get());
  if (!sent) return tl::unexpected(std::move(sent).error().with_context("asking the compiler"));
  KW_TRY(bool ended, wait_for_end(link, begin));
  std::chrono::duration<double, std::milli> wall = Clock::now() - begin;
  std::string log = link.log ? link.log() : "";
  if (!ended) {
    BuildOutcome late;
    late.status = BuildStatus::kTimedOut;
    late.diagnostics = fmt::format("compilation took longer than {}\n",
                                   format_ms(static_cast<double>(link.timeout.count())));
    late.compile_ms = wall.count();
    return late;
  }
  KW_TRY(BuildOutcome outcome, read_answer(plan, output.get(), log, cache));
  outcome.compile_ms = wall.count();
  return outcome;
}

}  // namespace kw::gym
