#include "service/sqlite_storage.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <sqlite3.h>
#include <sys/vfs.h>

namespace kw::service {
namespace {

constexpr int kSchema = 6;  // since 6 requests may name a baseline by its hash
constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS jobs(id INTEGER PRIMARY KEY, key TEXT NOT NULL, tenant TEXT NOT NULL, state INTEGER NOT NULL,
  epoch INTEGER NOT NULL, lost INTEGER NOT NULL, failures INTEGER NOT NULL, worker TEXT NOT NULL,
  lease TEXT NOT NULL, problem TEXT NOT NULL DEFAULT '', ended INTEGER NOT NULL DEFAULT 0,
  needs TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS problems(hash TEXT PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS requests(job INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS answers(job INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS tickets(id INTEGER PRIMARY KEY, job INTEGER NOT NULL, submission TEXT NOT NULL,
  priority INTEGER NOT NULL, timeout_ms INTEGER NOT NULL, state INTEGER NOT NULL, team TEXT NOT NULL DEFAULT '',
  owner TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS tickets_of_job ON tickets(job);
CREATE TABLE IF NOT EXISTS counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL);
)";

// Statements, in the order of kStatements.
enum Statement {
  kBegin,
  kCommit,
  kRollback,
  kPutJob,
  kPutRequest,
  kPutAnswer,
  kPutTicket,
  kPutNext,
  kPutProblem,
  kForgetProblem,
  kForgetJob,
  kForgetRequest,
  kForgetAnswer,
  kForgetTickets,
  kStatementCount
};
constexpr std::array<const char*, kStatementCount> kStatements = {
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "INSERT INTO jobs VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12) ON CONFLICT(id) DO UPDATE SET "
    "state=?4,epoch=?5,lost=?6,failures=?7,worker=?8,lease=?9,ended=?11",
    "INSERT OR REPLACE INTO requests VALUES(?1,?2)",
    "INSERT OR REPLACE INTO answers VALUES(?1,?2)",
    "INSERT INTO tickets VALUES(?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT(id) DO UPDATE SET "
    "timeout_ms=?5,state=?6",
    "INSERT OR REPLACE INTO counters VALUES('next_id',?1)",
    "INSERT OR REPLACE INTO problems VALUES(?1,?2)",
    "DELETE FROM problems WHERE hash=?1",
    "DELETE FROM jobs WHERE id=?1",
    "DELETE FROM requests WHERE job=?1",
    "DELETE FROM answers WHERE job=?1",
    "DELETE FROM tickets WHERE job=?1"};

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

ErrorCode code_of(int result) {
  switch (result & 0xFF) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ErrorCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kAlreadyExists;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kDataLoss;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return ErrorCode::kPermissionDenied;
    default:
      return ErrorCode::kUnavailable;
  }
}

class SqliteStorage : public TaskStorage {
 public:
  static Result<std::unique_ptr<TaskStorage>> open(const std::filesystem::path& file) {
    auto out = std::unique_ptr<SqliteStorage>(new SqliteStorage(file.string()));
    sqlite3* opened = nullptr;
    const int result =
        sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    out->database_.reset(opened);
    if (result != SQLITE_OK) return out->wrong(result);
    // The exclusive lock keeps a second server away, and the index of the log in our memory.
    KW_TRY_STATUS(out->execute("PRAGMA locking_mode=EXCLUSIVE"));
    KW_TRY_STATUS(out->execute("PRAGMA journal_mode=WAL"));
    KW_TRY_STATUS(out->execute("PRAGMA synchronous=FULL"));
    KW_TRY_STATUS(out->check_schema());
    for (std::size_t i = 0; i < kStatements.size(); ++i) {
      KW_TRY(out->statements_[i], out->prepare(kStatements[i]));
    }
    return std::unique_ptr<TaskStorage>(std::move(out));
  }

  Result<Rows> load() override {
    Rows out;
    KW_TRY_STATUS(each(
        "SELECT jobs.id,key,tenant,state,epoch,lost,failures,worker,lease,requests.text,"
        "answers.text,problem,ended,needs FROM jobs LEFT JOIN requests ON requests.job=jobs.id AND "
        "state<2 LEFT JOIN answers ON answers.job=jobs.id ORDER BY jobs.id",
        [&](sqlite3_stmt* row) { out.jobs.push_back(job(row)); }));
    KW_TRY_STATUS(each(
        "SELECT id,job,submission,priority,timeout_ms,state,team,owner FROM tickets ORDER BY id",
        [&](sqlite3_stmt* row) { out.tickets.push_back(ticket(row)); }));
    KW_TRY_STATUS(each("SELECT hash,text FROM problems ORDER BY hash", [&](sqlite3_stmt* row) {
      out.problems.push_back({.hash = text(row, 0), .text = text(row, 1)});
    }));
    KW_TRY_STATUS(each("SELECT value FROM counters WHERE name='next_id'", [&](sqlite3_stmt* row) {
      out.next_id = static_cast<std::uint64_t>(sqlite3_column_int64(row, 0));
    }));
    return out;
  }

  Result<std::string> request(JobId job) override {
    std::optional<std::string> out;
    KW_TRY_STATUS(each(fmt::format("SELECT text FROM requests WHERE job={}", job).c_str(),
                       [&](sqlite3_stmt* row) { out = text(row, 0); }));
    if (!out) return no_request(job);
    return std::move(*out);
  }

  Status commit(const Changes& changes) override {
    KW_TRY_STATUS(run(kBegin));
    Status written = write(changes);
    if (written) written = run(kCommit);
    // A full disk may have ended the transaction already.
    if (!written && sqlite3_get_autocommit(database_.get()) == 0) (void)run(kRollback);
    return written;
  }

 private:
  explicit SqliteStorage(std::string file) : file_(std::move(file)) {}

  tl::unexpected<Error> wrong(int result) const {
    const ErrorCode code = code_of(result);
    if (code == ErrorCode::kAlreadyExists) return fail(code, "{}: another server has it", file_);
    return fail(code, "{}: {}", file_, sqlite3_errmsg(database_.get()));
  }

  Status execute(const char* text) {
    const int result = sqlite3_exec(database_.get(), text, nullptr, nullptr, nullptr);
    if (result != SQLITE_OK) return wrong(result);
    return {};
  }

  Status check_schema() {
    int schema = 0;
    KW_TRY_STATUS(each("PRAGMA user_version",
                       [&](sqlite3_stmt* row) { schema = sqlite3_column_int(row, 0); }));
    if (schema < 0 || schema > kSchema)
      return fail(ErrorCode::kUnsupported, "{}: schema {}, where this version reads {}", file_,
                  schema, kSchema);
    KW_TRY_STATUS(execute("BEGIN IMMEDIATE"));
    KW_TRY_STATUS(execute(kTables));
    if (schema == 1)
      KW_TRY_STATUS(
          execute("ALTER TABLE tickets ADD COLUMN team TEXT NOT NULL DEFAULT '';"
                  "ALTER TABLE tickets ADD COLUMN owner TEXT NOT NULL DEFAULT ''"));
    if (schema == 1 || schema == 2)
      KW_TRY_STATUS(execute("ALTER TABLE jobs ADD COLUMN problem TEXT NOT NULL DEFAULT ''"));
    if (schema >= 1 && schema <= 3)
      KW_TRY_STATUS(execute("ALTER TABLE jobs ADD COLUMN ended INTEGER NOT NULL DEFAULT 0"));
    if (schema >= 1 && schema <= 4)
      KW_TRY_STATUS(execute("ALTER TABLE jobs ADD COLUMN needs TEXT NOT NULL DEFAULT ''"));
    KW_TRY_STATUS(execute(fmt::format("PRAGMA user_version={}", kSchema).c_str()));
    return execute("COMMIT");
  }

  Result<Prepared> prepare(const char* text) {
    sqlite3_stmt* statement = nullptr;
    const int result = sqlite3_prepare_v2(database_.get(), text, -1, &statement, nullptr);
    if (result != SQLITE_OK) return wrong(result);
    return Prepared(statement);
  }

  template <typename Visit>
  Status each(const char* text, const Visit& visit) {
    KW_TRY(const Prepared statement, prepare(text));
    int result = 0;
    while ((result = sqlite3_step(statement.get())) == SQLITE_ROW) visit(statement.get());
    if (result != SQLITE_DONE) return wrong(result);
    return {};
  }

  static void bind(sqlite3_stmt* statement, int at, const std::string& text) {
    sqlite3_bind_text64(statement, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  template <typename Number>
  static void bind(sqlite3_stmt* statement, int at, Number number) {
    sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(number));
  }

  // The values are borrowed until it returns.
  template <typename... Values>
  Status run(Statement which, const Values&... values) {
    sqlite3_stmt* statement = statements_.at(which).get();
    int at = 0;
    (bind(statement, ++at, values), ...);
    const int result = sqlite3_step(statement);
    Status out;
    if (result != SQLITE_DONE) out = wrong(result);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return out;
  }

  Status write(const Changes& changes) {
    for (const JobRow& row : changes.jobs) {
      KW_TRY_STATUS(run(kPutJob, row.id, row.key, row.tenant, static_cast<int>(row.state),
                        row.epoch, row.lost, row.failures, row.worker, row.lease, row.problem,
                        row.ended, row.needs));
      if (row.request) KW_TRY_STATUS(run(kPutRequest, row.id, *row.request));
      if (row.answer) KW_TRY_STATUS(run(kPutAnswer, row.id, *row.answer));
    }
    for (const TicketRow& row : changes.tickets)
      KW_TRY_STATUS(run(kPutTicket, row.id, row.job, row.submission, row.priority, row.timeout_ms,
                        static_cast<int>(row.state), row.group, row.owner));
    for (JobId job : changes.forgotten)
      for (Statement each : {kForgetJob, kForgetRequest, kForgetAnswer, kForgetTickets})
        KW_TRY_STATUS(run(each, job));
    for (const ProblemRow& row : changes.problems)
      KW_TRY_STATUS(run(kPutProblem, row.hash, row.text));
    for (const std::string& hash : changes.forgotten_problems)
      KW_TRY_STATUS(run(kForgetProblem, hash));
    if (changes.next_id != 0) KW_TRY_STATUS(run(kPutNext, changes.next_id));
    return {};
  }

  static std::string text(sqlite3_stmt* row, int at) {
    const void* bytes = sqlite3_column_blob(row, at);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, at));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }
  static std::optional<std::string> text_or_none(sqlite3_stmt* row, int at) {
    if (sqlite3_column_type(row, at) == SQLITE_NULL) return std::nullopt;
    return text(row, at);
  }
  static JobRow job(sqlite3_stmt* row) {
    return {.id = static_cast<JobId>(sqlite3_column_int64(row, 0)),
            .key = text(row, 1),
            .tenant = text(row, 2),
            .problem = text(row, 11),
            .needs = text(row, 13),
            .state = static_cast<JobState>(sqlite3_column_int(row, 3)),
            .epoch = sqlite3_column_int64(row, 4),
            .lost = sqlite3_column_int(row, 5),
            .failures = sqlite3_column_int(row, 6),
            .worker = text(row, 7),
            .lease = text(row, 8),
            .ended = static_cast<std::uint64_t>(sqlite3_column_int64(row, 12)),
            .request = text_or_none(row, 9),
            .answer = text_or_none(row, 10)};
  }
  static TicketRow ticket(sqlite3_stmt* row) {
    return {.id = static_cast<TicketId>(sqlite3_column_int64(row, 0)),
            .job = static_cast<JobId>(sqlite3_column_int64(row, 1)),
            .submission = text(row, 2),
            .priority = sqlite3_column_int(row, 3),
            .timeout_ms = sqlite3_column_int64(row, 4),
            .state = static_cast<TicketState>(sqlite3_column_int(row, 5)),
            .owner = text(row, 7),
            .group = text(row, 6)};
  }

  std::string file_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::array<Prepared, kStatementCount> statements_;  // after the database: finalised before it
};

}  // namespace

Status refuse_network_folder(const std::filesystem::path& folder) {
  struct statfs facts{};
  if (::statfs(folder.c_str(), &facts) != 0)
    return fail_errno(errno, "cannot look at " + folder.string());
  constexpr std::array<unsigned long, 8> kNetwork = {
      0x6969 /*NFS*/,        0x517B /*SMB*/,      0xFF534D42 /*CIFS*/, 0xFE534D42 /*SMB2*/,
      0x0BD00BD0 /*Lustre*/, 0x00C36400 /*Ceph*/, 0x5346414F /*AFS*/,  0x01021997 /*9P*/};
  for (unsigned long kind : kNetwork) {
    if ((static_cast<unsigned long>(facts.f_type) & 0xFFFFFFFFUL) == kind)
      return fail(ErrorCode::kUnsupported,
                  "{}: a network file system, where SQLite's locks cannot be trusted; give a "
                  "folder of this machine",
                  folder.string());
  }
  return {};
}

Result<std::unique_ptr<TaskStorage>> open_sqlite_storage(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno(error.value(), "cannot make the folder " + folder.string());
  KW_TRY_STATUS(refuse_network_folder(folder));
  return SqliteStorage::open(folder / "tasks.sqlite");
}

}  // namespace kw::service
