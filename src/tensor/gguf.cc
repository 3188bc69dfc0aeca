#include "tensor/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "base/text.h"

namespace kw::tensor {
namespace {

constexpr std::uint64_t kMaxKeys = 4096;
constexpr std::uint64_t kMaxTensors = 65536;
constexpr std::uint64_t kMaxEntries = 1U << 22U;
constexpr std::uint64_t kMaxName = 4096;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr int kMaxNesting = 2;

enum ValueType : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

// Takes values from the front of the bytes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }

  template <typename T>
  Result<T> number() {
    if (bytes_.size() - at_ < sizeof(T)) return cut();
    T out;
    std::memcpy(&out, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return out;
  }

  Result<std::string> string(std::uint64_t most) {
    KW_TRY(std::uint64_t length, number<std::uint64_t>());
    if (length > bytes_.size() - at_) return cut();
    if (length > most)
      return fail(ErrorCode::kInvalidArgument, "a text of {} bytes, more than {}", length, most);
    std::string out(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
    at_ += length;
    if (!is_valid_utf8(out)) return fail(ErrorCode::kInvalidArgument, "a text is no UTF-8");
    return out;
  }

  Result<Json> value(std::uint32_t type, int depth) {
    switch (type) {
      case kUint8:
        return json<std::uint8_t>();
      case kInt8:
        return json<std::int8_t>();
      case kUint16:
        return json<std::uint16_t>();
      case kInt16:
        return json<std::int16_t>();
      case kUint32:
        return json<std::uint32_t>();
      case kInt32:
        return json<std::int32_t>();
      case kFloat32:
        return json<float>();
      case kUint64:
        return json<std::uint64_t>();
      case kInt64:
        return json<std::int64_t>();
      case kFloat64:
        return json<double>();
      case kBool: {
        KW_TRY(std::uint8_t flag, number<std::uint8_t>());
        if (flag > 1) return fail(ErrorCode::kInvalidArgument, "a boolean is {}", flag);
        return Json(flag == 1);
      }
      case kString: {
        KW_TRY(std::string text, string(bytes_.size()));
        return Json(std::move(text));
      }
      case kArray:
        return array(depth);
      default:
        return fail(ErrorCode::kInvalidArgument, "values of type {} are unknown", type);
    }
  }

 private:
  static tl::unexpected<Error> cut() {
    return fail(ErrorCode::kInvalidArgument, "the file ends within it");
  }

  template <typename T>
  Result<Json> json() {
    KW_TRY(T out, number<T>());
    return Json(out);
  }

  Result<Json> array(int depth) {
    KW_TRY(std::uint32_t type, number<std::uint32_t>());
    KW_TRY(std::uint64_t count, number<std::uint64_t>());
    if (depth >= kMaxNesting) return fail(ErrorCode::kInvalidArgument, "lists are nested too deep");
    // An entry has a byte at least.
    if (count > bytes_.size() - at_) return cut();
    if (count > kMaxEntries - entries_)
      return fail(ErrorCode::kInvalidArgument, "lists have more than {} entries", kMaxEntries);
    entries_ += count;
    Json out = Json::array();
    for (std::uint64_t at = 0; at < count; ++at) {
      KW_TRY(Json entry, value(type, depth + 1));
      out.push_back(std::move(entry));
    }
    return out;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t entries_ = 0;  // of all lists
};

Result<Json> read_metadata(Reader& reader, std::uint64_t count) {
  Json out = Json::object();
  std::set<std::string> known;
  for (std::uint64_t at = 0; at < count; ++at) {
    auto key = reader.string(kMaxName);
    if (!key) return tl::unexpected(std::move(key).error().with_context(fmt::format("key {}", at)));
    auto type = reader.number<std::uint32_t>();
    auto value = type ? reader.value(*type, 0) : Result<Json>(tl::unexpected(type.error()));
    if (!value) return tl::unexpected(std::move(value).error().with_context(printable(*key, 80)));
    if (!known.insert(*key).second)
      return fail(ErrorCode::kInvalidArgument, "{}: is there twice", printable(*key, 80));
    out[*key] = std::move(*value);
  }
  return out;
}

// A tensor's description; its data's place is in `offset`, from where the data begin.
Result<GgufTensor> read_tensor(Reader& reader, std::uint64_t& offset) {
  GgufTensor out;
  KW_TRY(out.name, reader.string(kMaxName));
  auto describe = [&]() -> Status {
    KW_TRY(std::uint32_t dimensions, reader.number<std::uint32_t>());
    if (dimensions == 0 || dimensions > kMaxDimensions)
      return fail(ErrorCode::kInvalidArgument, "{} dimensions", dimensions);
    for (std::uint32_t at = 0; at < dimensions; ++at) {
      KW_TRY(std::uint64_t size, reader.number<std::uint64_t>());
      if (size == 0 || size > INT64_MAX)
        return fail(ErrorCode::kInvalidArgument, "a dimension of {}", size);
      out.shape.insert(out.shape.begin(), static_cast<std::int64_t>(size));
    }
    KW_TRY(std::uint32_t type, reader.number<std::uint32_t>());
    if (gguf_block(type) == nullptr)
      return fail(ErrorCode::kUnsupported, "numbers of type {} are not read; read are {}", type,
                  gguf_type_names());
    out.type = static_cast<GgufType>(type);
    KW_TRY(offset, reader.number<std::uint64_t>());
    return {};
  };
  if (Status status = describe(); !status)
    return tl::unexpected(std::move(status).error().with_context(printable(out.name, 80)));
  return out;
}

Result<std::uint64_t> bytes_of(const GgufTensor& tensor) {
  const GgufBlock& block = *gguf_block(static_cast<std::uint32_t>(tensor.type));
  if (static_cast<std::uint64_t>(tensor.columns()) % block.values != 0)
    return fail(ErrorCode::kInvalidArgument, "{} columns are no whole blocks of {}",
                tensor.columns(), block.values);
  std::uint64_t out = static_cast<std::uint64_t>(tensor.columns()) / block.values;
  bool overflows = __builtin_mul_overflow(out, std::uint64_t{block.bytes}, &out);
  for (std::size_t at = 0; at + 1 < tensor.shape.size(); ++at)
    overflows = overflows ||
                __builtin_mul_overflow(out, static_cast<std::uint64_t>(tensor.shape[at]), &out);
  if (overflows) return fail(ErrorCode::kInvalidArgument, "its size overflows");
  return out;
}

Status place_data(GgufTensor& tensor, std::uint64_t offset, std::span<const std::byte> data,
                  std::uint64_t alignment) {
  KW_TRY(std::uint64_t bytes, bytes_of(tensor));
  if (offset % alignment != 0)
    return fail(ErrorCode::kInvalidArgument, "begins at {}, not at a multiple of {}", offset,
                alignment);
  if (offset > data.size() || bytes > data.size() - offset)
    return fail(ErrorCode::kInvalidArgument, "{} bytes at {} are outside the file's {} of data",
                bytes, offset, data.size());
  tensor.data = data.subspan(offset, bytes);
  return {};
}

Result<std::uint64_t> alignment_of(const Json& metadata) {
  auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return 32;
  if (!found->is_number_unsigned() || !std::has_single_bit(found->get<std::uint64_t>()) ||
      found->get<std::uint64_t>() > 65536)
    return fail(ErrorCode::kInvalidArgument,
                "general.alignment: expected a power of two up to 65536");
  return found->get<std::uint64_t>();
}

// Two tensors never share a byte: a file that says so is corrupt.
Status check_overlap(const std::vector<GgufTensor>& tensors) {
  std::vector<const GgufTensor*> sorted;
  for (const GgufTensor& tensor : tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->data.data() < b->data.data(); });
  for (std::size_t at = 1; at < sorted.size(); ++at) {
    if (sorted[at - 1]->data.data() + sorted[at - 1]->data.size() > sorted[at]->data.data())
      return fail(ErrorCode::kInvalidArgument, "{} and {} overlap",
                  printable(sorted[at - 1]->name, 80), printable(sorted[at]->name, 80));
  }
  return {};
}

}  // namespace

std::int64_t GgufTensor::rows() const {
  std::int64_t out = 1;
  for (std::size_t at = 0; at + 1 < shape.size(); ++at) out *= shape[at];
  return out;
}

const GgufTensor* GgufFile::find(std::string_view name) const {
  auto found = std::find_if(tensors.begin(), tensors.end(),
                            [&](const GgufTensor& one) { return one.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Result<GgufFile> parse_gguf(std::span<const std::byte> file) {
  constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
  Reader reader(file);
  auto magic = reader.number<std::uint32_t>();
  if (!magic || *magic != kMagic) return fail(ErrorCode::kInvalidArgument, "no GGUF file");
  GgufFile out;
  KW_TRY(out.version, reader.number<std::uint32_t>());
  if (out.version != 2 && out.version != 3)
    return fail(ErrorCode::kUnsupported, "version {} is not read, only 2 and 3", out.version);
  KW_TRY(std::uint64_t tensors, reader.number<std::uint64_t>());
  KW_TRY(std::uint64_t keys, reader.number<std::uint64_t>());
  if (tensors > kMaxTensors || keys > kMaxKeys)
    return fail(ErrorCode::kInvalidArgument, "{} tensors and {} keys, more than {} and {}", tensors,
                keys, kMaxTensors, kMaxKeys);
  KW_TRY(out.metadata, read_metadata(reader, keys));
  KW_TRY(std::uint64_t alignment, alignment_of(out.metadata));
  std::vector<std::uint64_t> offsets(tensors);
  std::set<std::string> names;
  for (std::uint64_t at = 0; at < tensors; ++at) {
    auto tensor = read_tensor(reader, offsets[at]);
    if (!tensor)
      return tl::unexpected(std::move(tensor).error().with_context(fmt::format("tensor {}", at)));
    if (!names.insert(tensor->name).second)
      return fail(ErrorCode::kInvalidArgument, "{}: is there twice", printable(tensor->name, 80));
    out.tensors.push_back(std::move(*tensor));
  }
  const std::uint64_t begin = (reader.at() + alignment - 1) / alignment * alignment;
  const auto data = file.subspan(std::min<std::uint64_t>(begin, file.size()));
  for (std::uint64_t at = 0; at < tensors; ++at) {
    GgufTensor& tensor = out.tensors[at];
    if (Status placed = place_data(tensor, offsets[at], data, alignment); !placed)
      return tl::unexpected(std::move(placed).error().with_context(printable(tensor.name, 80)));
  }
  KW_TRY_STATUS(check_overlap(out.tensors));
  return out;
}

void dequantise_row(const GgufTensor& tensor, std::int64_t row, std::span<float> values) {
  const GgufBlock& block = *gguf_block(static_cast<std::uint32_t>(tensor.type));
  const std::size_t bytes = values.size() / block.values * block.bytes;
  dequantise(tensor.type, tensor.data.subspan(static_cast<std::size_t>(row) * bytes, bytes),
             values);
}

}  // namespace kw::tensor
