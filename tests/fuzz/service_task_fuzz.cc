// The bodies of a service's calls: what is accepted is stored as it came, reads again, and its
// answer is written and read with the same bytes.
#include "fuzz.h"
#include "service/task_messages.h"
#include "service/work.h"

namespace kw::fuzz {
namespace {

void check_work(const Json& value) {
  const auto work = service::work_from_json(value, "");
  if (!accepted(work)) return;
  const auto written = service::to_json(*work);
  if (!written) return;  // inputs in files
  const auto again = service::work_from_json(*written, "");
  KW_CHECK(again.has_value());
  KW_CHECK(again->index() == work->index());
}

// What a server keeps asks for the same, with the hashes of problem and baseline in their places.
void check_asked(const Json& value) {
  const auto asked = service::asked_work_from_json(value, "");
  if (!accepted(asked)) return;
  KW_CHECK(asked->key.size() == 64);
  const auto again = service::asked_work_from_json(asked->json, "");
  KW_CHECK(again.has_value());
  KW_CHECK(again->key == asked->key && again->json == asked->json);
  for (const auto part : {&service::WorkParts::problem, &service::WorkParts::baseline}) {
    KW_CHECK((again->parts.*part).hash == (asked->parts.*part).hash);
    KW_CHECK((again->parts.*part).whole.is_null());
  }
}

void check_answer(const Json& value) {
  auto reader = ObjectReader::make(value, "");
  if (!accepted(reader)) return;
  const auto answer = service::read_answer(*reader);
  if (!accepted(answer)) return;
  const std::string written = service::to_json(*answer).dump();
  const auto stored = parse_json(written);
  KW_CHECK(stored.has_value());
  auto second = ObjectReader::make(*stored, "");
  KW_CHECK(second.has_value());
  const auto again = service::read_answer(*second);
  KW_CHECK(again.has_value());
  KW_CHECK(service::to_json(*again).dump() == written);
}

// The text that the server writes around a stored answer is JSON again.
void check_report(const service::LeaseReport& report) {
  KW_CHECK(!report.why || is_valid_utf8(report.why->message()));
  KW_CHECK(report.answer.empty() == (report.kind != service::ReportKind::kComplete));
  service::TaskStatus status{.state = "done", .is_final = true};
  status.position = 3;
  status.estimated_start_seconds = 0.25;
  status.answer = report.answer;
  KW_CHECK(parse_json(service::status_text(7, status)).has_value());
}

}  // namespace

KW_FUZZ(service_task, text) {
  const auto body = parse_json(text);
  if (!accepted(body)) return;
  check_work(*body);
  check_asked(*body);
  check_answer(*body);
  const auto submissions = service::submissions_from_json(*body);
  if (accepted(submissions)) {
    KW_CHECK(!submissions->empty() && submissions->size() <= service::kMaxTasksAtOnce);
    for (const service::Submission& each : *submissions) {
      KW_CHECK(each.timeout_ms >= 0 && each.key.size() == 64);
      const auto stored = parse_json(each.request);
      KW_CHECK(stored && service::asked_work_from_json(*stored, "").has_value());
    }
  }
  if (const auto call = service::lease_call_from_json(*body); accepted(call)) {
    KW_CHECK(call->wait.count() >= 0 && call->wait <= service::kLongestPoll);
    KW_CHECK(call->most >= 1 && call->most <= service::kMaxTasksAtOnce);
  }
  using Kind = service::ReportKind;
  for (const Kind kind : {Kind::kRenew, Kind::kComplete, Kind::kFail, Kind::kRelease})
    if (const auto report = service::lease_report_from_json(*body, kind, 1); accepted(report))
      check_report(*report);
  if (const auto reports = service::lease_reports_from_json(*body); accepted(reports))
    for (const service::LeaseReport& each : *reports) check_report(each);
}

}  // namespace kw::fuzz
