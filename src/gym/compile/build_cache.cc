// One file per build: a fixed header with key and SHA-256, then the artefact.
#include "gym/compile/build_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"
#include "gym/compile/shared_object.h"
#include "os/file.h"
#include "os/memory.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMagic = 0x3148434143574BULL;  // "KWCACH1"
constexpr std::size_t kHexDigits = 64;
constexpr std::string_view kSuffix = ".build";
constexpr std::string_view kUnfinished = ".unfinished-";
// A writer takes milliseconds. A temporary file of this age has no writer any more.
constexpr std::chrono::minutes kAbandonedAfter{30};
// Other supervisors' inserts are not counted, so the folder is measured now and then all the same.
constexpr std::uint64_t kMeasureEvery = 1024;

struct EntryHeader {
  std::uint64_t magic = kMagic;
  std::uint64_t artifact_bytes = 0;
  std::array<char, kHexDigits> key{};
  std::array<char, kHexDigits> sha256{};
};
static_assert(sizeof(EntryHeader) == 144);

bool is_key(std::string_view text) {
  return text.size() == kHexDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string_view view(const std::array<char, kHexDigits>& digits) {
  return {digits.data(), digits.size()};
}

// The artefact inside an entry's bytes; kDataLoss says what does not fit.
Result<std::string_view> artifact_in(std::string_view entry, std::string_view key) {
  EntryHeader header;
  if (entry.size() < sizeof header) return fail(ErrorCode::kDataLoss, "cut short");
  std::memcpy(&header, entry.data(), sizeof header);
  std::string_view artifact = entry.substr(sizeof header);
  if (header.magic != kMagic) return fail(ErrorCode::kDataLoss, "no build of this schema");
  if (view(header.key) != key) return fail(ErrorCode::kDataLoss, "a build under another's name");
  if (header.artifact_bytes != artifact.size()) return fail(ErrorCode::kDataLoss, "cut short");
  if (sha256_hex(artifact) != view(header.sha256)) {
    return fail(ErrorCode::kDataLoss, "its SHA-256 does not match");
  }
  return artifact;
}

struct Entry {
  fs::path path;
  std::uint64_t bytes;
  fs::file_time_type used;
  bool finished;
};

// Files of the cache, in no order. Files that vanish meanwhile (another supervisor) are left out,
// and so is everything that does not bear a name of ours.
std::vector<Entry> list(const fs::path& folder) {
  std::vector<Entry> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    bool finished = name.ends_with(kSuffix) &&
                    is_key(std::string_view(name).substr(0, name.size() - kSuffix.size()));
    if (!finished && !name.starts_with(kUnfinished)) continue;
    std::error_code gone;
    std::uint64_t bytes = it->is_symlink(gone) ? 0 : it->file_size(gone);
    fs::file_time_type used = gone ? fs::file_time_type() : it->last_write_time(gone);
    if (!gone) out.push_back({it->path(), bytes, used, finished});
  }
  return out;
}

BuildCache::Size sum(const std::vector<Entry>& entries) {
  BuildCache::Size size;
  for (const Entry& entry : entries) {
    size.bytes += entry.bytes;
    size.entries += entry.finished ? 1 : 0;
  }
  return size;
}

}  // namespace

BuildCache::BuildCache(fs::path folder, std::uint64_t cap_bytes)
    : folder_(std::move(folder)), cap_bytes_(cap_bytes) {}

fs::path BuildCache::path_of(std::string_view key) const {
  KW_CHECK(is_key(key));
  return folder_ / std::string(key.substr(0, 2)) / (std::string(key) + std::string(kSuffix));
}

Result<std::optional<os::UniqueFd>> BuildCache::find(std::string_view key) {
  fs::path path = path_of(key);
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) {
    // A cache entry that cannot be read only costs a build.
    if (errno != ENOENT) {
      log::warning(fmt::format("build cache: cannot open {}: {}", path.string(),
                               std::generic_category().message(errno)));
    }
    return std::nullopt;
  }
  auto entry = os::read_to_end(file.get(), kMaxArtifactBytes + sizeof(EntryHeader));
  auto artifact = entry ? artifact_in(*entry, key) : tl::unexpected(entry.error());
  if (!artifact) {
    log::warning(fmt::format("build cache: {} is damaged ({}); removed, it will be built again",
                             path.string(), artifact.error().message()));
    ::unlink(path.c_str());
    return std::nullopt;
  }
  // The time of last use orders eviction; where it cannot be set the entry merely looks older.
  std::ignore = ::futimens(file.get(), nullptr);
  KW_TRY(os::UniqueFd sealed, os::make_sealed_file("build", *artifact));
  return std::optional<os::UniqueFd>(std::move(sealed));
}

Status BuildCache::insert(std::string_view key, std::string_view artifact) {
  fs::path path = path_of(key);
  std::uint64_t bytes = artifact.size() + sizeof(EntryHeader);
  if (artifact.size() > kMaxArtifactBytes || bytes > cap_bytes_ / 10 * 9) return {};
  EntryHeader header;
  header.artifact_bytes = artifact.size();
  std::copy(key.begin(), key.end(), header.key.begin());
  std::string digest = sha256_hex(artifact);
  std::copy(digest.begin(), digest.end(), header.sha256.begin());

  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return fail_errno(error.value(), "cannot make " + path.parent_path().string());
  std::string unfinished = (path.parent_path() / (std::string(kUnfinished) + "XXXXXX")).string();
  os::UniqueFd file(::mkostemp(unfinished.data(), O_CLOEXEC));
  if (!file.valid()) return fail_errno(errno, "cannot write to " + path.parent_path().string());
  // The entry is not synced: after a crash its SHA-256 does not match, and a build is cheap to
  // repeat.
  auto written = os::write_all(
      file.get(), std::string_view(reinterpret_cast<const char*>(&header), sizeof header));
  if (written) written = os::write_all(file.get(), artifact);
  if (written && ::rename(unfinished.c_str(), path.c_str()) != 0) {
    written = fail_errno(errno, "cannot rename");
  }
  if (!written) {
    ::unlink(unfinished.c_str());
    return tl::unexpected(std::move(written).error().with_context("writing " + path.string()));
  }

  std::scoped_lock lock(mutex_);
  if (estimated_bytes_) *estimated_bytes_ += bytes;
  ++inserts_since_measured_;
  bool unknown = !estimated_bytes_ || inserts_since_measured_ >= kMeasureEvery;
  if (unknown || *estimated_bytes_ > cap_bytes_) evict();
  return {};
}

// Measures the folder and, over the cap, removes the entries that were unused for the longest time.
// Removing a file that another supervisor reads is harmless, because that supervisor has it open.
void BuildCache::evict() {
  std::vector<Entry> entries = list(folder_);
  std::uint64_t bytes = sum(entries).bytes;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  fs::file_time_type abandoned = fs::file_time_type::clock::now() - kAbandonedAfter;
  bool over = bytes > cap_bytes_;
  for (const Entry& entry : entries) {
    bool remove = entry.finished ? over && bytes > cap_bytes_ / 10 * 9 : entry.used < abandoned;
    if (!remove) continue;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    bytes -= entry.bytes;
  }
  estimated_bytes_ = bytes;
  inserts_since_measured_ = 0;
}

Result<BuildCache::Size> BuildCache::size() const {
  return sum(list(folder_));
}

Result<BuildCache::Size> BuildCache::clean() {
  std::scoped_lock lock(mutex_);
  std::vector<Entry> entries = list(folder_);
  for (const Entry& entry : entries) {
    if (::unlink(entry.path.c_str()) != 0 && errno != ENOENT) {
      return fail_errno(errno, "cannot remove " + entry.path.string());
    }
  }
  estimated_bytes_.reset();
  return sum(entries);
}

}  // namespace kw::gym
