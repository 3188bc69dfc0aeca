#include "kernelwright/data/parquet.h"

#include <charconv>
#include <utility>

#include <sys/socket.h>

#include "base/text.h"
#include "link/error_line.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = 1U << 18U;
constexpr std::chrono::seconds kGrace{10};

Result<os::ChildProgram> start(std::vector<std::string> words, const Services& services) {
  const fs::path program = services.program_folder / "kernelwright-parquet";
  words.insert(words.begin(), program.string());
  auto child = services.start_program(words);
  if (child || child.error().code() != ErrorCode::kNotFound) return child;
  return fail(ErrorCode::kUnsupported,
              "Parquet needs {}, which is built where Python has pyarrow: pip install pyarrow into "
              ".venv (or name a Python with -DKW_ARROW_PYTHON), and build again",
              program.string());
}

}  // namespace

Result<ParquetReader> ParquetReader::open(const fs::path& path, const Services& services) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return fail(ErrorCode::kNotFound, "{}: no such file", path.string());
  KW_TRY(os::ChildProgram child, start({"read", path.string()}, services));
  data::LineReader lines(child.take_socket(), path.string());
  return ParquetReader(std::move(child), std::move(lines));
}

Result<bool> ParquetReader::next(std::string_view& line) {
  KW_TRY(bool more, lines_.next(line));
  if (more && line.starts_with('!')) return tl::unexpected(link::error_of_line(line));
  if (more) return true;
  const std::string end = child_.wait(kGrace);
  if (end == "exit code 0") return false;
  return fail(ErrorCode::kUnavailable, "{}: kernelwright-parquet ended with {}", lines_.name(),
              end);
}

Result<ParquetWriter> ParquetWriter::create(const fs::path& path, const Json& schema,
                                            const Services& services) {
  KW_TRY(os::ChildProgram child, start({"write", path.string(), schema.dump()}, services));
  os::UniqueFd socket = child.take_socket();
  return ParquetWriter(std::move(child), std::move(socket));
}

Status ParquetWriter::append(const Json& row) {
  buffer_ += row.dump(-1, ' ', false, Json::error_handler_t::replace);
  buffer_ += '\n';
  return buffer_.size() < kBlock ? Status() : flush();
}

Status ParquetWriter::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {  // it has ended, and says why
      auto why = reply();
      if (!why) return tl::unexpected(std::move(why).error());
      return fail(ErrorCode::kUnavailable, "kernelwright-parquet stopped reading");
    }
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  buffer_.clear();
  return {};
}

Result<std::string> ParquetWriter::reply() {
  data::LineReader lines(std::move(socket_), "kernelwright-parquet");
  std::string_view line;
  KW_TRY(bool any, lines.next(line));
  if (any && line.starts_with('!')) return tl::unexpected(link::error_of_line(line));
  if (any && line.starts_with("ok ")) return std::string(line.substr(3));
  return fail(ErrorCode::kUnavailable, "kernelwright-parquet ended with {}", child_.wait(kGrace));
}

Result<std::uint64_t> ParquetWriter::close() {
  KW_TRY_STATUS(flush());
  ::shutdown(socket_.get(), SHUT_WR);
  KW_TRY(std::string count, reply());
  std::uint64_t out = 0;
  std::from_chars(count.data(), count.data() + count.size(), out);
  return out;
}

}  // namespace kw::front
