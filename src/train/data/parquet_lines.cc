#include "train/data/parquet_lines.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "link/error_line.h"
#include "os/child_program.h"
#include "os/fd.h"
#include "os/file.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 1U << 18U;
constexpr std::chrono::seconds kGrace{10};

Result<os::ChildProgram> start_reader(const fs::path& path) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): never written
  const char* named = std::getenv("KW_PARQUET");
  const std::string program =
      named != nullptr ? named : (os::program_folder() / "kernelwright-parquet").string();
  auto child = os::ChildProgram::start({program, "read", path.string()});
  if (child || child.error().code() != ErrorCode::kNotFound) return child;
  return fail(ErrorCode::kUnsupported,
              "{}: Parquet needs {}, which is built where Python has pyarrow: pip install pyarrow "
              "into .venv, and start again",
              path.string(), program);
}

Result<os::UniqueFd> nameless_file() {
  std::string name = (fs::temp_directory_path() / "kernelwright-rows-XXXXXX").string();
  os::UniqueFd out(::mkostemp(name.data(), O_CLOEXEC));
  if (!out.valid()) return fail_errno(errno, "cannot make " + name);
  ::unlink(name.c_str());
  return out;
}

// Lines from one descriptor to the other, until the end or a line that is an error. No row begins
// with "!", and JSON has no line break inside.
class Copy {
 public:
  Copy(int from, int to) : from_(from), to_(to) {}

  Status run() {
    std::string block(kBlock, '\0');
    while (!error_.ends_with('\n')) {  // after it the program waits for us to leave
      const ssize_t got = ::read(from_, block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, "cannot read the rows");
      if (got == 0) break;
      KW_TRY_STATUS(add(std::string_view(block).substr(0, static_cast<std::size_t>(got))));
    }
    if (error_.empty()) return {};
    if (error_.back() == '\n') error_.pop_back();
    return tl::unexpected(link::error_of_line(error_));
  }
  bool any() const { return any_; }

 private:
  Status add(std::string_view block) {
    if (!error_.empty()) {
      error_ += block;
      return {};
    }
    const bool begins = at_line_ && block.starts_with('!');
    const std::size_t at = block.find("\n!");
    if (begins || at != std::string_view::npos) {
      error_ = block.substr(begins ? 0 : at + 1);
      return {};
    }
    any_ = true;
    at_line_ = block.ends_with('\n');
    return os::write_all(to_, block);
  }

  const int from_, to_;
  bool any_ = false;
  bool at_line_ = true;  // the next byte begins a line
  std::string error_;
};

}  // namespace

Result<os::Mapping> parquet_lines(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return fail(ErrorCode::kNotFound, "{}: no such file", path.string());
  KW_TRY(os::ChildProgram child, start_reader(path));
  const os::UniqueFd socket = child.take_socket();
  KW_TRY(const os::UniqueFd file, nameless_file());
  Copy copy(socket.get(), file.get());
  auto done = copy.run();
  if (!done) return tl::unexpected(std::move(done).error().with_context(path.string()));
  const std::string end = child.wait(kGrace);
  if (end != "exit code 0")
    return fail(ErrorCode::kUnavailable, "{}: kernelwright-parquet ended with {}", path.string(),
                end);
  if (!copy.any()) return fail(ErrorCode::kInvalidArgument, "{}: has no rows", path.string());
  return os::Mapping::whole(file.get());
}

}  // namespace kw::train
