// Core time from /proc/stat; reports field by field.
#include "gym/supervisor/process_pairs.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "gym/measure/disturbance.h"
#include "os/file.h"
#include "task/verdict.h"

namespace kw::gym {
namespace {

constexpr auto kWatch = std::chrono::milliseconds(350);
constexpr double kMostBusy = 0.05;  // cores

// Seconds of core time spent so far on anything but idling, all cores together.
Result<double> busy_seconds() {
  KW_TRY(std::string text, os::read_file("/proc/stat", 1U << 20U));
  std::istringstream line(text);
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
  line >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> steal;
  if (!line) return fail(ErrorCode::kInternal, "/proc/stat: no line of all cores");
  return (user + nice + system + irq + softirq + steal) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void add_number(Json& to, const Json& from, const char* key) {
  if (from.contains(key)) to[key] = to.value(key, 0.0) + from[key].get<double>();
}

void add_count(Json& to, const Json& from, const char* key) {
  if (from.contains(key)) to[key] = to.value(key, std::int64_t{0}) + from[key].get<std::int64_t>();
}

// null: infinite.
void take_larger(Json& to, const Json& from, const char* key) {
  if (!from.contains(key) || to[key].is_null()) return;
  if (from[key].is_null() || from[key].get<double>() > to[key].get<double>()) to[key] = from[key];
}

void join_errors(Json& errors, const Json& more) {
  for (std::size_t i = 0; i < std::min(errors.size(), more.size()); ++i) {
    for (const char* key : {"max_absolute", "max_relative", "max_of_budget"})
      take_larger(errors[i], more[i], key);
    add_count(errors[i], more[i], "checked_calls");
  }
}

void clear_samples(Json& report) {
  for (const char* key : {"candidate_ns", "reference_ns", "pair_samples"})
    report[key] = Json::array();
}

int severity_of(const Json& report) {
  auto outcome = task::outcome_from_string(report.value("outcome", ""));
  return outcome ? task::severity(*outcome) : 0;
}

}  // namespace

Status require_quiet_machine() {
  KW_TRY(double before, busy_seconds());
  auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kWatch);
  KW_TRY(double after, busy_seconds());
  std::chrono::duration<double> watched = std::chrono::steady_clock::now() - start;
  double busy = (after - before) / watched.count();
  if (busy <= kMostBusy) return {};
  return fail(ErrorCode::kUnavailable,
              "--precise needs a quiet machine: others use {:.0f} % of a core (kernelwright doctor "
              "names sources of noise)",
              100 * busy);
}

void add_process_pair(Json& report, const Json& more) {
  for (const char* key : {"candidate_ns", "reference_ns", "pair_samples", "diagnostics"}) {
    for (const Json& item : more.value(key, Json::array())) report[key].push_back(item);
  }
  for (const char* key :
       {"blocks", "disturbed_samples", "disturbed_by_faults", "audits", "candidate_page_faults",
        "reference_page_faults", "candidate_waited_ns", "reference_waited_ns"})
    add_count(report, more, key);
  for (const char* key : {"load_ms", "prepare_ms", "check_ms", "time_ms"})
    add_number(report["cost"], more["cost"], key);
  join_errors(report["errors"], more["errors"]);
  report["log"] = report.value("log", "") + more.value("log", "");
  if (severity_of(more) <= severity_of(report)) return;
  for (const char* key : {"outcome", "violation", "kernelbench", "flashinfer"})
    if (more.contains(key)) report[key] = more.at(key);
  clear_samples(report);
}

void refuse_noise(Json& report) {
  if (report.value("outcome", "") != task::to_string(task::Outcome::kPassed)) return;
  const auto dropped = report.value("disturbed_samples", std::uint64_t{0});
  const auto by_faults = report.value("disturbed_by_faults", std::uint64_t{0});
  if (!too_many_dropped(dropped, report["candidate_ns"].size())) return;
  report["outcome"] = task::to_string(task::Outcome::kNoisy);
  report["diagnostics"].push_back(
      {{"kind", "hint"}, {"message", noise_message(by_faults, dropped - by_faults)}});
  clear_samples(report);
}

}  // namespace kw::gym
