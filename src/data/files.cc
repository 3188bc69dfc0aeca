#include "data/files.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace kw::data {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = 1U << 18U;

}  // namespace

Result<LineReader> LineReader::open(const fs::path& path) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT)
    return fail(ErrorCode::kNotFound, "{}: no such file", path.string());
  if (!fd.valid()) return fail_errno(errno, "cannot read " + path.string());
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "cannot read " + path.string());
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    return fail(ErrorCode::kInvalidArgument, "{}: not a regular file", path.string());
  return LineReader(std::move(fd), path.string());
}

std::string LineReader::where() const {
  return fmt::format("{}:{}", name_, number_);
}

Result<bool> LineReader::next(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t found = buffer_.find('\n', searched);
    if (found != std::string::npos || (end_ && begin_ < buffer_.size())) {
      const std::size_t last = found == std::string::npos ? buffer_.size() : found;
      line = std::string_view(buffer_).substr(begin_, last - begin_);
      begin_ = std::min(last + 1, buffer_.size());
      ++number_;
      return true;
    }
    if (end_) return false;
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    if (searched > kMaxLine)
      return fail(ErrorCode::kInvalidArgument, "{}:{}: a line of more than {}", name_, number_ + 1,
                  format_bytes(kMaxLine));
    buffer_.resize(searched + kBlock);
    ssize_t got = 0;
    do {
      got = ::read(fd_.get(), buffer_.data() + searched, kBlock);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return fail_errno(errno, "cannot read " + name_);
    buffer_.resize(searched + static_cast<std::size_t>(got));
    bytes_ += static_cast<std::uint64_t>(got);
    end_ = got == 0;
  }
}

Status for_each_sample(const fs::path& path,
                       const std::function<Status(Sample, std::string_view)>& visit) {
  KW_TRY(LineReader reader, LineReader::open(path));
  bool any = false;
  for (std::string_view line;;) {
    KW_TRY(bool more, reader.next(line));
    if (!more) break;
    if (trim(line).empty()) continue;
    any = true;
    auto value = parse_json(line);
    if (!value) return tl::unexpected(std::move(value).error().with_context(reader.where()));
    auto sample = sample_from_json(*value);
    if (!sample) return tl::unexpected(std::move(sample).error().with_context(reader.where()));
    KW_TRY_STATUS(visit(std::move(*sample), line));
  }
  if (!any) return fail(ErrorCode::kInvalidArgument, "{}: no samples", path.string());
  return {};
}

Result<OutputFile> OutputFile::open(const fs::path& path, bool replace) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return fail(ErrorCode::kInvalidArgument, "{}: a folder", path.string());
  if (!replace && fs::exists(path, error))
    return fail(ErrorCode::kAlreadyExists, "{}: is there already", path.string());
  fs::path partial = path;
  partial += ".partial";
  os::UniqueFd fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid() && errno == ENOENT)
    return fail(ErrorCode::kNotFound, "{}: its folder is not there", path.string());
  if (!fd.valid()) return fail_errno(errno, "cannot write " + path.string());
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::kAlreadyExists, "another run is writing {}", path.string());
  return OutputFile(path, std::move(partial), std::move(fd));
}

Result<OutputFile> OutputFile::create(const fs::path& path, bool replace) {
  KW_TRY(OutputFile out, open(path, replace));
  KW_TRY_STATUS(out.cut(0));
  return out;
}

Result<OutputFile> OutputFile::go_on(const fs::path& path) {
  KW_TRY(OutputFile out, open(path, false));
  const off_t end = ::lseek(out.fd_.get(), 0, SEEK_END);
  if (end < 0) return fail_errno(errno, "cannot write " + path.string());
  out.bytes_ = static_cast<std::uint64_t>(end);
  out.kept_ = true;
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::exchange(other.partial_, {})),
      fd_(std::move(other.fd_)),
      kept_(other.kept_),
      buffer_(std::move(other.buffer_)),
      bytes_(other.bytes_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(partial_, other.partial_);
  std::swap(fd_, other.fd_);
  std::swap(kept_, other.kept_);
  std::swap(buffer_, other.buffer_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

OutputFile::~OutputFile() {
  if (!partial_.empty() && !kept_) ::unlink(partial_.c_str());
}

Status OutputFile::flush() {
  auto written = os::write_all(fd_.get(), buffer_);
  buffer_.clear();
  if (!written)
    return tl::unexpected(std::move(written).error().with_context("writing " + path_.string()));
  return {};
}

Status OutputFile::append(std::string_view text) {
  buffer_ += text;
  bytes_ += text.size();
  return buffer_.size() < kBlock ? Status() : flush();
}

Status OutputFile::append_line(std::string_view line) {
  buffer_ += line;
  bytes_ += line.size();
  return append("\n");
}

Status OutputFile::cut(std::uint64_t bytes) {
  const auto end = static_cast<off_t>(bytes);
  if (::ftruncate(fd_.get(), end) != 0 || ::lseek(fd_.get(), end, SEEK_SET) != end)
    return fail_errno(errno, "cannot write " + path_.string());
  bytes_ = bytes;
  return {};
}

Status OutputFile::sync() {
  KW_TRY_STATUS(flush());
  if (::fsync(fd_.get()) != 0) return fail_errno(errno, "cannot sync " + path_.string());
  return {};
}

Status OutputFile::close() {
  KW_TRY_STATUS(sync());
  if (::rename(partial_.c_str(), path_.c_str()) != 0)
    return fail_errno(errno, "cannot rename to " + path_.string());
  partial_.clear();
  return {};
}

}  // namespace kw::data
