#!/usr/bin/env python3
"""Twenty-five defects for the simulated service: each must be found within --seeds runs.
Usage: planted.py run PROGRAM [--seeds N] [--only NUMBER]    runs build/*/bin/service_simulation_planted with each of them
       planted.py write SOURCE_FOLDER OUT                    writes the sources of that program: those of the service, in
                                                             which the environment's KW_PLANTED switches a defect on"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

TABLE, QUEUE = "service/task_table.cc", "gym/queue/queue.cc"
ROWS, VIEWS = "service/task_table_rows.cc", "service/task_table_views.cc"
SERVICE, SQLITE, RETRIES = "service/task_service.cc", "service/sqlite_storage.cc", "service/retries.cc"

# What is wrong, the file, its text, and the text with the defect where BUG is true.
DEFECTS = [
    ("the answer of an older epoch is taken", TABLE,
     "job.row.state == JobState::kLeased && job.row.epoch == epoch)",
     "job.row.state == JobState::kLeased && (BUG || job.row.epoch == epoch))"),
    ("a submission that is repeated is a second task", TABLE,
     "if (found != by_submission_.end()) return found->second;",
     "if (found != by_submission_.end() && !BUG) return found->second;"),
    ("names of submissions are forgotten by a restart", ROWS,
     "if (!row.submission.empty()) by_submission_[row.submission] = row.id;",
     "if (!row.submission.empty() && !BUG) by_submission_[row.submission] = row.id;"),
    ("a renewal does not renew", TABLE,
     "  job->lease_end = now + options_.lease;", "  if (!BUG) job->lease_end = now + options_.lease;"),
    ("lost workers are not counted", TABLE, "  ++job.row.lost;", "  if (!BUG) ++job.row.lost;"),
    ("our failure becomes an answer", TABLE,
     "job->is_stopped ? JobState::kCancelled : JobState::kFailed,",
     "job->is_stopped ? JobState::kCancelled : BUG ? JobState::kDone : JobState::kFailed,"),
    ("a failure of ours is tried twice alone", TABLE,
     "job->row.failures >= kMaxFailures)", "job->row.failures >= kMaxFailures - (BUG ? 1 : 0))"),
    ("one submitter's cancellation ends the judgement of all", TABLE,
     "  if (gone.dropped) end(job,", "  if (gone.dropped || (BUG && job.row.state == JobState::kWaiting)) end(job,"),
    ("the leases of an earlier start never end", ROWS,
     "      lease_ends_.emplace(job.lease_end, id);",
     "      if (!BUG) lease_ends_.emplace(job.lease_end, id);"),
    ("a restart remembers one submitter of a judgement", ROWS,
     "        if (tickets_.at(ticket).row.state == TicketState::kOpen)",
     "        if (tickets_.at(ticket).row.state == TicketState::kOpen && !(BUG && job.queued != 0))"),
    ("a group does not hear of tasks that expire", TABLE,
     "  changed_tickets_.insert(ticket.row.id);\n  note_end(ticket);",
     "  changed_tickets_.insert(ticket.row.id);\n  if (!BUG || state != TicketState::kExpired) note_end(ticket);"),
    ("a tenant may cancel another's task", VIEWS,
     "return tenant.empty() ||", "return BUG || tenant.empty() ||"),
    ("who joins a judgement has no deadline", QUEUE,
     "if (wish.deadline != Time::max()) deadlines_",
     "if (wish.deadline != Time::max() && (!BUG || out.is_new)) deadlines_"),
    ("a judgement that is being stopped can be joined", QUEUE,
     "  forget_key(job, id);  // the next", "  if (!BUG || !job.is_running) forget_key(job, id);  // the next"),
    ("callers hear before the commit", SERVICE,
     "    committed = storage_->commit(changes);",
     "    if (BUG) {\n      for (const Told& each : told) each({});\n      told.clear();\n    }\n"
     "    committed = storage_->commit(changes);"),
    ("a slow disk or a pause counts as silence of workers", SERVICE,
     "  if (now - heard_until_ >=", "  if (!BUG && now - heard_until_ >="),
    ("a commit that failed is success", SERVICE,
     "    if (!committed) {\n", "    if (!committed && BUG) {\n      committed = {};\n    } else if (!committed) {\n"),
    ("a commit is not synced", SQLITE,
     '"PRAGMA synchronous=FULL"', 'BUG ? "PRAGMA synchronous=OFF" : "PRAGMA synchronous=FULL"'),
    ("the changes of a turn are no transaction", SQLITE,
     "    KW_TRY_STATUS(run(kBegin));\n    Status written = write(changes);\n    if (written) written",
     "    if (!BUG) KW_TRY_STATUS(run(kBegin));\n    Status written = write(changes);\n    if (written && !BUG) written"),
    ("answers are not stored", SQLITE, "if (row.answer) KW", "if (row.answer && !BUG) KW"),
    ("a worker gets what it cannot judge", TABLE,
     "return can.cover(pool, Retries::kind_in(kind)) &&", "return (BUG || can.cover(pool, Retries::kind_in(kind))) &&"),
    ("a death that a successor tells of does not count", TABLE,
     "  lose(*job, now);", "  if (BUG) {\n    give_back(*job, {});\n  } else {\n    lose(*job, now);\n  }"),
    ("a retry does not wait", RETRIES,
     "if (entry->stage == Stage::kPauses) return kind + kMark;", "if (!BUG && entry->stage == Stage::kPauses) return kind + kMark;"),
    ("a retry goes to the worker that failed it", RETRIES,
     "return kind.find(kMark + worker", "return BUG || kind.find(kMark + worker"),
    ("a retry is kept for others for ever", RETRIES,
     "(now < entry.give_up && is_there(job, entry.workers))", "BUG || (now < entry.give_up && is_there(job, entry.workers))"),
]  # fmt: skip

SWITCH = """#include <cstdlib>
namespace kw {
bool planted(int number) {
  static const char* const given = std::getenv("KW_PLANTED");
  return given != nullptr && std::atoi(given) == number;
}
}
"""


def write(source: pathlib.Path, out: pathlib.Path) -> None:
    texts = {}
    for number, (what, name, old, new) in enumerate(DEFECTS, 1):
        text = texts.setdefault(name, (source / name).read_text())
        if text.count(old) != 1:
            sys.exit(f"defect {number} ({what}): its text stands {text.count(old)} times in {name}")
        texts[name] = text.replace(old, new.replace("BUG", f"kw::planted({number})"))
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / pathlib.Path(name).name).write_text("namespace kw { bool planted(int number); }\n" + text)
    (out / "planted.cc").write_text(SWITCH)


def run(program: str, seeds: int, only: int | None) -> int:
    missed = 0
    for number, (what, *_) in enumerate(DEFECTS, 1):
        if only not in (None, number):
            continue
        environment = os.environ | {"KW_PLANTED": str(number), "KW_SIMULATION_SEED": "1", "KW_SIMULATION_RUNS": str(seeds)}
        begin = time.monotonic()
        done = subprocess.run([program, "--gtest_filter=*PromisesHold*"], env=environment, capture_output=True, text=True, errors="replace")
        found = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("seed ")]
        result = found[-1] if found else f"MISSED in {seeds} seeds"
        missed += not found
        print(f"{number:2} {what}: {result} ({time.monotonic() - begin:.1f} s)", flush=True)
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("source", type=pathlib.Path)
    writing.add_argument("out", type=pathlib.Path)
    running = commands.add_parser("run")
    running.add_argument("program")
    running.add_argument("--seeds", type=int, default=10000)
    running.add_argument("--only", type=int)
    given = parser.parse_args()
    if given.command == "write":
        write(given.source, given.out)
        return 0
    return run(given.program, given.seeds, given.only)


if __name__ == "__main__":
    sys.exit(main())
