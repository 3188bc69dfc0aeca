// safetensors reader. Files come from downloaded data sets, so every number in the header is
// checked against the file.
#include "tensor/safetensors.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>

#include "base/json.h"
#include "base/text.h"
#include "tensor/safetensors_names.h"
#include "text/names.h"

namespace kw::tensor {
namespace {

constexpr std::uint64_t kMaxHeader = 64ULL << 20U;
constexpr std::size_t kMaxStoredTensors = 100000;
constexpr std::size_t kMaxStoredRank = 8;

Result<std::vector<std::int64_t>> integers(ObjectReader& reader, std::string_view key,
                                           std::size_t most) {
  KW_TRY(const Json* value, reader.get(key));
  std::vector<std::int64_t> out;
  if (!value->is_array() || value->size() > most) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of at most {} integers",
                reader.path(key), most);
  }
  for (const Json& item : *value) {
    bool whole = item.is_number_integer() &&
                 !(item.is_number_unsigned() &&
                   item.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
    if (!whole || item.get<std::int64_t>() < 0) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected integers from 0", reader.path(key));
    }
    out.push_back(item.get<std::int64_t>());
  }
  return out;
}

// data: where the data begin and how many bytes they have.
struct DataRange {
  std::uint64_t begin = 0, bytes = 0;
};

Result<SafetensorsEntry> entry_from(const std::string& name, const Json& value,
                                    const DataRange& data) {
  std::string where = printable(name, 80);
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  SafetensorsEntry out;
  out.name = name;
  KW_TRY(std::string dtype, reader.string("dtype"));
  auto known = kSafetensorsNames.value(dtype);
  if (!known)
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not read", reader.path("dtype"),
                printable(dtype, 60));
  out.dtype = *known;
  KW_TRY(out.shape, integers(reader, "shape", kMaxStoredRank));
  KW_TRY(auto offsets, integers(reader, "data_offsets", 2));
  KW_TRY_STATUS(reader.no_other_keys());
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      static_cast<std::uint64_t>(offsets[1]) > data.bytes) {
    return fail(ErrorCode::kInvalidArgument, "{}: outside the file's {} bytes of data",
                reader.path("data_offsets"), data.bytes);
  }
  auto expected = static_cast<std::int64_t>(size_of(out.dtype));
  for (std::int64_t size : out.shape) {
    if (__builtin_mul_overflow(expected, size, &expected)) {
      return fail(ErrorCode::kInvalidArgument, "{}: overflows", reader.path("shape"));
    }
  }
  if (offsets[1] - offsets[0] != expected) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} bytes, but shape and dtype need {}",
                reader.path("data_offsets"), offsets[1] - offsets[0], expected);
  }
  out.offset = data.begin + static_cast<std::uint64_t>(offsets[0]);
  out.bytes = static_cast<std::uint64_t>(expected);
  return out;
}

// Tensors must cover the data from their first byte to their last, without gaps: bytes that belong
// to no tensor are refused, as the reference reader refuses them.
Status check_coverage(std::vector<SafetensorsEntry> entries, const DataRange& data) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  std::uint64_t end = data.begin;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const SafetensorsEntry& entry = entries[i];
    if (entry.offset < end)
      return fail(ErrorCode::kInvalidArgument, "{} and {} overlap",
                  printable(entries[i - 1].name, 80), printable(entry.name, 80));
    if (entry.offset > end)
      return fail(ErrorCode::kInvalidArgument, "{} bytes before {} belong to no tensor",
                  entry.offset - end, printable(entry.name, 80));
    end = entry.offset + entry.bytes;
  }
  if (end != data.begin + data.bytes)
    return fail(ErrorCode::kInvalidArgument, "{} bytes at the end belong to no tensor",
                data.begin + data.bytes - end);
  return {};
}

Status check_metadata(const Json& value) {
  if (!value.is_object())
    return fail(ErrorCode::kInvalidArgument, "__metadata__: expected an object of strings");
  for (const auto& [key, item] : value.items()) {
    if (!item.is_string())
      return fail(ErrorCode::kInvalidArgument, "__metadata__.{}: expected a string",
                  printable(key, 80));
  }
  return {};
}

Result<std::vector<SafetensorsEntry>> entries_from(std::string_view header, const DataRange& data) {
  KW_TRY(Json value, parse_json(header));
  if (!value.is_object() || value.size() > kMaxStoredTensors) {
    return fail(ErrorCode::kInvalidArgument, "header: expected an object of at most {} tensors",
                kMaxStoredTensors);
  }
  std::vector<SafetensorsEntry> out;
  for (const auto& [name, item] : value.items()) {
    if (name == "__metadata__") {
      KW_TRY_STATUS(check_metadata(item));
      continue;
    }
    KW_TRY(SafetensorsEntry entry, entry_from(name, item, data));
    out.push_back(std::move(entry));
  }
  KW_TRY_STATUS(check_coverage(out, data));
  return out;
}

Result<std::vector<SafetensorsEntry>> read_header(std::ifstream& file, std::uint64_t file_bytes) {
  std::array<unsigned char, 8> length_bytes{};
  if (file_bytes < length_bytes.size() ||
      !file.read(reinterpret_cast<char*>(length_bytes.data()), length_bytes.size())) {
    return fail(ErrorCode::kInvalidArgument, "shorter than a safetensors header");
  }
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes.size(); i-- > 0;) length = (length << 8U) | length_bytes[i];
  if (length > kMaxHeader || length > file_bytes - length_bytes.size()) {
    return fail(ErrorCode::kInvalidArgument, "says that its header has {} bytes, of {} in the file",
                length, file_bytes);
  }
  std::string header(length, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(length))) {
    return fail(ErrorCode::kInvalidArgument, "the header cannot be read");
  }
  DataRange data{length_bytes.size() + length, file_bytes - length_bytes.size() - length};
  return entries_from(header, data);
}

struct OpenFile {
  std::ifstream file;
  std::vector<SafetensorsEntry> entries;
};

Result<OpenFile> open(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return fail(ErrorCode::kNotFound, "{}: no such file", path.string());
  auto bytes = std::filesystem::file_size(path, error);
  OpenFile out;
  out.file.open(path, std::ios::binary);
  if (error || !out.file)
    return fail(ErrorCode::kPermissionDenied, "{}: cannot be opened", path.string());
  auto entries = read_header(out.file, bytes);
  if (!entries) return tl::unexpected(std::move(entries).error().with_context(path.string()));
  out.entries = std::move(*entries);
  return out;
}

}  // namespace

Result<std::vector<SafetensorsEntry>> safetensors_entries(const std::filesystem::path& path) {
  KW_TRY(OpenFile opened, open(path));
  return std::move(opened.entries);
}

Result<StoredTensor> read_safetensor(const std::filesystem::path& path, const std::string& name,
                                     std::uint64_t max_bytes) {
  KW_TRY(OpenFile opened, open(path));
  std::vector<std::string> known;
  for (const SafetensorsEntry& entry : opened.entries) known.push_back(entry.name);
  auto found = std::find_if(opened.entries.begin(), opened.entries.end(),
                            [&](const auto& entry) { return entry.name == name; });
  if (found == opened.entries.end()) {
    return fail(ErrorCode::kNotFound, "{}: no tensor \"{}\"{}", path.string(), printable(name, 80),
                text::suggestion(name, known));
  }
  if (found->bytes > max_bytes) {
    return fail(ErrorCode::kResourceExhausted, "{}: \"{}\" has {}, more than {}", path.string(),
                printable(name, 80), format_bytes(found->bytes), format_bytes(max_bytes));
  }
  StoredTensor out{found->dtype, found->shape, std::vector<std::byte>(found->bytes)};
  opened.file.seekg(static_cast<std::streamoff>(found->offset));
  opened.file.read(reinterpret_cast<char*>(out.data.data()),
                   static_cast<std::streamsize>(found->bytes));
  if (!opened.file)
    return fail(ErrorCode::kDataLoss, "{}: \"{}\" cannot be read", path.string(),
                printable(name, 80));
  return out;
}

}  // namespace kw::tensor
