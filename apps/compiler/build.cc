// Files, processes and the artefact. Every path is opened beneath the current folder without
// following links.
#include "build.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "nvrtc.h"
#include "os/fd.h"

namespace kw::compiler {
namespace {

constexpr std::size_t kBlock = 1ULL << 20U;

Status check_path(const std::string& path) {
  bool absolute = path.empty() || path[0] == '/' || path.find('\0') != std::string::npos;
  bool climbs = false;
  for (const std::string& part : split(path, '/')) {
    climbs = climbs || part.empty() || part == "." || part == "..";
  }
  if (!absolute && !climbs) return {};
  return fail(ErrorCode::kInvalidArgument, "path \"{}\" is not allowed", printable(path, 200));
}

// openat2 beneath the current folder: no links, no "..", no other mounts.
Result<os::UniqueFd> open_beneath(const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? 0644 : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  long fd = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how);
  if (fd < 0) return fail_errno(errno, "cannot open " + path);
  return os::UniqueFd(static_cast<int>(fd));
}

// Copies bytes between descriptors by position; the source's and the target's own positions stay.
Status copy(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
            std::uint64_t bytes) {
  std::vector<char> buffer(std::min<std::uint64_t>(bytes, kBlock));
  for (std::uint64_t done = 0; done < bytes;) {
    std::size_t want = std::min<std::uint64_t>(bytes - done, buffer.size());
    ssize_t got = ::pread(from, buffer.data(), want, static_cast<off_t>(from_offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot read");
    if (got == 0) return fail(ErrorCode::kDataLoss, "a file is shorter than announced");
    for (ssize_t written = 0; written < got;) {
      ssize_t put = ::pwrite(to, buffer.data() + written, static_cast<std::size_t>(got - written),
                             static_cast<off_t>(to_offset + done) + written);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return fail_errno(errno, "cannot write");
      written += put;
    }
    done += static_cast<std::uint64_t>(got);
  }
  return {};
}

Status write_files(const std::vector<Request::File>& files, int sources) {
  std::uint64_t offset = 0;
  for (const Request::File& file : files) {
    for (auto slash = file.path.find('/'); slash != std::string::npos;
         slash = file.path.find('/', slash + 1)) {
      std::string folder = file.path.substr(0, slash);
      if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail_errno(errno, "cannot make " + folder);
      }
    }
    KW_TRY(os::UniqueFd target, open_beneath(file.path, O_WRONLY | O_CREAT | O_EXCL));
    KW_TRY_STATUS(copy(sources, offset, target.get(), 0, file.size));
    offset += file.size;
  }
  return {};
}

// The exit code, or the signal's number negated. stdin, stdout and stderr are inherited; everything
// else of ours is close-on-exec.
Result<int> run(const std::vector<std::string>& command) {
  if (command[0] == "nvrtc") return run_nvrtc_command(command);
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // Fixed: neither time nor place may show in what is built.
  std::array<std::string, 5> environment = {"PATH=/usr/bin:/bin:/usr/local/bin", "LC_ALL=C",
                                            "TMPDIR=.", "HOME=.", "SOURCE_DATE_EPOCH=0"};
  std::array<char*, 6> envp{};
  std::transform(environment.begin(), environment.end(), envp.begin(),
                 [](std::string& variable) { return variable.data(); });
  pid_t pid = -1;
  int error = ::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), envp.data());
  if (error != 0) return fail_errno(error, "cannot run " + printable(words[0], 200));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return fail_errno(errno, "cannot wait for " + printable(words[0], 200));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// 0, or BuildHeader's 2 (no artefact) or 3 (too large).
Result<std::uint32_t> copy_artifact(const Request& request, int output, std::uint64_t& bytes) {
  auto artifact = open_beneath(request.artifact, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!artifact) return 2;
  struct stat info{};
  if (::fstat(artifact->get(), &info) != 0) return fail_errno(errno, "cannot look at the artefact");
  // A second name would let somebody else change it; links and devices are no artefacts.
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1) return 2;
  bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > request.artifact_limit) return 3;
  KW_TRY_STATUS(copy(artifact->get(), 0, output, sizeof(gym::BuildHeader), bytes));
  return 0;
}

Result<std::string> path_field(ObjectReader& reader, std::string_view key) {
  KW_TRY(std::string path, reader.string(key));
  KW_TRY_STATUS(check_path(path));
  return path;
}

}  // namespace

Result<Request> read_request(const Json& body) {
  Request request;
  KW_TRY(ObjectReader reader, ObjectReader::make(body, "compile"));
  KW_TRY(const Json* files, reader.get("files"));
  if (!files->is_array()) return fail(ErrorCode::kInvalidArgument, "compile.files: no array");
  for (const Json& item : *files) {
    KW_TRY(ObjectReader file, ObjectReader::make(item, "compile.files"));
    KW_TRY(std::string path, path_field(file, "path"));
    KW_TRY(std::int64_t size, file.integer("size"));
    if (size < 0) return fail(ErrorCode::kInvalidArgument, "compile.files.size: {}", size);
    request.files.push_back({std::move(path), static_cast<std::size_t>(size)});
  }
  KW_TRY(const Json* commands, reader.get("commands"));
  for (const Json& command : *commands) {
    std::vector<std::string>& words = request.commands.emplace_back();
    for (const Json& word : command) {
      if (!word.is_string()) return fail(ErrorCode::kInvalidArgument, "compile.commands: no text");
      words.push_back(word.get<std::string>());
    }
    if (words.empty()) return fail(ErrorCode::kInvalidArgument, "compile.commands: no program");
  }
  KW_TRY(request.artifact, path_field(reader, "artifact"));
  KW_TRY(std::int64_t limit, reader.integer("artifact_limit"));
  request.artifact_limit = static_cast<std::uint64_t>(std::max<std::int64_t>(limit, 0));
  return request;
}

Status build(const Request& request, int sources, int output) {
  gym::BuildHeader header{};
  KW_TRY_STATUS(write_files(request.files, sources));
  for (const std::vector<std::string>& command : request.commands) {
    KW_TRY(header.exit_code, run(command));
    if (header.exit_code != 0) break;
  }
  if (header.exit_code != 0) {
    header.status = 1;
  } else {
    KW_TRY(header.status, copy_artifact(request, output, header.artifact_bytes));
  }
  header.magic = gym::BuildHeader::kMagic;
  if (::pwrite(output, &header, sizeof header, 0) != sizeof header) {
    return fail_errno(errno, "cannot write the answer");
  }
  return {};
}

}  // namespace kw::compiler
