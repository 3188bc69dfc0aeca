// Reading whole files with limits.
#include "text/text_file.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/text.h"

namespace kw::text {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxFiles = 1000000;
constexpr std::size_t kMaxOthers = 200000;  // passed by to find them: `/` is a slip of the hand

std::size_t digits_at(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  return count;
}

std::string_view without_zeros(std::string_view digits) {
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

Result<std::string> read_bytes(const fs::path& path, std::size_t max_bytes) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return fail(ErrorCode::kNotFound, "{}: no such file", path.string());
  if (!fs::is_regular_file(status))
    return fail(ErrorCode::kInvalidArgument, "{}: not a regular file", path.string());
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kPermissionDenied, "{}: cannot be opened", path.string());
  auto size = fs::file_size(path, error);
  auto too_large = [&] {
    return fail(ErrorCode::kInvalidArgument, "{}: more than the {} that are read", path.string(),
                format_bytes(max_bytes));
  };
  if (!error && size > max_bytes) return too_large();
  std::string content;
  std::vector<char> block(1U << 16U);
  // The size may be a lie (/proc, a growing file), so the cap holds while reading too.
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    content.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (content.size() > max_bytes) return too_large();
  }
  if (file.bad()) return fail(ErrorCode::kUnavailable, "{}: reading failed", path.string());
  if (content.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: the file is empty", path.string());
  return content;
}

Result<std::string> read_text(const fs::path& path, std::size_t max_bytes) {
  KW_TRY(std::string content, read_bytes(path, max_bytes));
  if (!is_valid_utf8(content))
    return fail(ErrorCode::kInvalidArgument, "{}: not UTF-8 text", path.string());
  if (trim(content).empty())
    return fail(ErrorCode::kInvalidArgument, "{}: nothing but white space", path.string());
  return content;
}

Result<Json> read_json(const fs::path& path, std::size_t max_bytes) {
  KW_TRY(std::string content, read_text(path, max_bytes));
  auto value = parse_json(content);
  if (!value) return tl::unexpected(std::move(value).error().with_context(path.string()));
  return value;
}

Result<std::vector<fs::path>> files_with_extension(const fs::path& folder,
                                                   std::string_view extension, bool below) {
  std::vector<fs::path> out;
  std::size_t others = 0;
  std::error_code error;
  auto consider = [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored) && entry.path().extension() == extension)
      out.push_back(entry.path());
    else
      ++others;
    return out.size() <= kMaxFiles && others <= kMaxOthers;
  };
  bool few_enough = true;
  if (below) {
    fs::recursive_directory_iterator entries(folder, error), end;
    for (; !error && few_enough && entries != end; entries.increment(error)) {
      if (entries->path().filename().native().starts_with('.')) entries.disable_recursion_pending();
      few_enough = consider(*entries);
    }
  } else {
    fs::directory_iterator entries(folder, error), end;
    for (; !error && few_enough && entries != end; entries.increment(error))
      few_enough = consider(*entries);
  }
  if (error)
    return fail(ErrorCode::kNotFound, "{}: cannot be listed: {}", folder.string(), error.message());
  if (others > kMaxOthers)
    return fail(ErrorCode::kInvalidArgument,
                "{}: more than {} other files below it; name the folder of the {} files",
                folder.string(), kMaxOthers, extension);
  if (!few_enough)
    return fail(ErrorCode::kInvalidArgument, "{}: more than {} files", folder.string(), kMaxFiles);
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.string(), b.string());
  });
  return out;
}

bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    std::size_t in_a = digits_at(a);
    std::size_t in_b = digits_at(b);
    if (in_a > 0 && in_b > 0) {
      std::string_view left = without_zeros(a.substr(0, in_a));
      std::string_view right = without_zeros(b.substr(0, in_b));
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      a.remove_prefix(in_a);
      b.remove_prefix(in_b);
      continue;
    }
    if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

}  // namespace kw::text
