#include "service/intent_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "base/json.h"
#include "base/log.h"
#include "os/file.h"

namespace kw::service {
namespace {

constexpr int kIntentSchema = 1;
constexpr std::size_t kMaxBytes = 1U << 20U;

Result<std::vector<Intent>> intents_in(const std::string& text) {
  KW_TRY(const Json whole, parse_json(text));
  KW_TRY(ObjectReader reader, ObjectReader::make(whole, ""));
  KW_TRY(const std::int64_t schema, reader.integer("schema"));
  if (schema != kIntentSchema)
    return fail(ErrorCode::kUnsupported, "schema {}, where this version reads {}", schema,
                kIntentSchema);
  KW_TRY(const Json* leases, reader.get("leases"));
  std::vector<Intent> out;
  for (const Json& each : *leases) {
    KW_TRY(ObjectReader lease, ObjectReader::make(each, "leases"));
    Intent& one = out.emplace_back();
    KW_TRY(one.task, lease.string("task"));
    KW_TRY(one.epoch, lease.integer("epoch"));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<IntentFile>> IntentFile::open(std::filesystem::path path) {
  std::unique_ptr<IntentFile> out(new IntentFile(std::move(path)));
  if (out->path_.empty()) return out;
  if (const auto folder = out->path_.parent_path(); !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
  }
  const std::string lock = out->path_.string() + ".lock";
  out->lock_ = os::UniqueFd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (out->lock_.get() < 0) return fail_errno(errno, "cannot open " + lock);
  if (::flock(out->lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::kAlreadyExists, "{}: another worker has it", out->path_.string());
  auto text = os::read_file(out->path_, kMaxBytes);
  if (!text) {
    if (text.error().code() == ErrorCode::kNotFound) return out;
    return tl::unexpected(std::move(text).error());
  }
  auto left = intents_in(*text);
  if (left) {
    out->left_ = out->held_ = std::move(*left);
  } else {
    log::warning(
        fmt::format("{}: {}; it is begun anew", out->path_.string(), left.error().message()));
  }
  return out;
}

Status IntentFile::put(const Intent& intent) {
  std::lock_guard lock(mutex_);
  held_.push_back(intent);
  return write();
}

Status IntentFile::remove(const std::string& task) {
  std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const Intent& each) { return each.task == task; });
  return write();
}

Status IntentFile::write() {
  if (path_.empty()) return {};
  Json leases = Json::array();
  for (const Intent& each : held_) leases.push_back({{"task", each.task}, {"epoch", each.epoch}});
  return os::write_file_atomic(path_,
                               Json{{"schema", kIntentSchema}, {"leases", leases}}.dump() + "\n");
}

}  // namespace kw::service
