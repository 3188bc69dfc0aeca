// Files are mapped; tensors are converted row by row, side by side.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "lm/model/checkpoint.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/parallel.h"
#include "tensor/half.h"
#include "tensor/safetensors.h"
#include "text/names.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;
using tensor::DType;
using tensor::SafetensorsEntry;

struct MappedFile {
  fs::path path;
  os::Mapping bytes;
};

struct StoredEntry {
  const MappedFile* file = nullptr;
  SafetensorsEntry entry;

  std::span<const std::byte> bytes() const {
    return file->bytes.bytes().subspan(entry.offset, entry.bytes);
  }
  std::string where() const { return file->path.string() + ": " + entry.name; }
};

struct Checkpoint {
  std::vector<std::unique_ptr<MappedFile>> files;
  std::map<std::string, StoredEntry> tensors;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> words;
  for (std::int64_t size : shape) words.push_back(std::to_string(size));
  return "[" + join(words, ", ") + "]";
}

// The files of the folder, without the folder.
Result<std::vector<std::string>> file_names(const fs::path& folder) {
  const fs::path index = folder / "model.safetensors.index.json";
  std::error_code error;
  if (!fs::exists(index, error)) return std::vector<std::string>{"model.safetensors"};
  KW_TRY(std::string text, os::read_file(index));
  auto value = parse_json(text);
  if (!value) return tl::unexpected(std::move(value).error().with_context(index.string()));
  KW_TRY(ObjectReader reader, ObjectReader::make(*value, index.string()));
  KW_TRY(const Json* map, reader.get("weight_map"));
  std::set<std::string> names;
  if (map->is_object()) {
    for (const auto& [tensor, name] : map->items()) {
      std::string file = name.is_string() ? name.get<std::string>() : "";
      if (file.empty() || file.find('/') != std::string::npos)
        return fail(ErrorCode::kInvalidArgument, "{}: weight_map.{}: expected the name of a file",
                    index.string(), printable(tensor, 80));
      names.insert(file);
    }
  }
  if (names.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: weight_map: expected names of files",
                index.string());
  return std::vector<std::string>(names.begin(), names.end());
}

Result<Checkpoint> open(const fs::path& folder) {
  Checkpoint out;
  KW_TRY(auto names, file_names(folder));
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    KW_TRY(auto entries, tensor::safetensors_entries(path));
    KW_TRY(os::Mapping bytes, os::Mapping::file(path));
    out.files.push_back(std::make_unique<MappedFile>(MappedFile{path, std::move(bytes)}));
    for (SafetensorsEntry& entry : entries) {
      std::string tensor = entry.name;
      StoredEntry stored{out.files.back().get(), std::move(entry)};
      if (stored.entry.offset + stored.entry.bytes > stored.file->bytes.size())
        return fail(ErrorCode::kDataLoss, "{}: cut while it was read", stored.where());
      if (!out.tensors.emplace(tensor, std::move(stored)).second)
        return fail(ErrorCode::kInvalidArgument, "{}: {} is in two files", folder.string(),
                    printable(tensor, 80));
    }
  }
  return out;
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

Result<const StoredEntry*> find(const Checkpoint& checkpoint, const fs::path& folder,
                                const std::string& name, const std::vector<std::int64_t>& shape) {
  auto found = checkpoint.tensors.find(name);
  if (found == checkpoint.tensors.end()) {
    std::vector<std::string> known;
    for (const auto& [other, entry] : checkpoint.tensors) known.push_back(other);
    return fail(ErrorCode::kInvalidArgument, "{}: no tensor \"{}\"{}", folder.string(), name,
                text::suggestion(name, known));
  }
  const StoredEntry& stored = found->second;
  if (stored.entry.shape != shape)
    return fail(ErrorCode::kInvalidArgument, "{} has the shape {}, and config.json wants {}",
                stored.where(), shape_text(stored.entry.shape), shape_text(shape));
  return &stored;
}

Status refuse(const StoredEntry& stored, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, "{} is {}", stored.where(), what);
}

// What is not finite has the largest exponent.
bool all_finite(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (float value : values)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU);
  return largest < 0x7F800000U;
}
bool all_finite_bfloat16(std::span<const std::uint16_t> values) {
  unsigned largest = 0;
  for (std::uint16_t bits : values) largest = std::max(largest, bits & 0x7FFFU);
  return largest < 0x7F80U;
}

// A row of the type that it is stored with.
bool is_finite_row(const Matrix& matrix, std::int64_t row) {
  const auto columns = static_cast<std::size_t>(matrix.columns);
  if (matrix.type == WeightType::kFloat32)
    return all_finite({reinterpret_cast<const float*>(matrix.row(row)), columns});
  return all_finite_bfloat16({reinterpret_cast<const std::uint16_t*>(matrix.row(row)), columns});
}

Status read_vector(const StoredEntry& stored, std::span<float> out) {
  if (!is_float(stored.entry.dtype))
    return refuse(stored, std::string(tensor::to_string(stored.entry.dtype)) + ", not floating");
  tensor::load(stored.entry.dtype, stored.bytes(), 0, out);
  if (!all_finite(out)) return refuse(stored, "not finite");
  return {};
}

// The scales beside an int8 matrix; nothing for a floating one.
Result<std::vector<std::uint16_t>> read_scales(const Checkpoint& checkpoint, const fs::path& folder,
                                               const StoredEntry& stored) {
  std::vector<std::uint16_t> scales;
  if (is_float(stored.entry.dtype)) return scales;
  if (stored.entry.dtype != DType::kInt8)
    return fail(ErrorCode::kInvalidArgument,
                "{} is {}; read are float32, float16, bfloat16 and int8", stored.where(),
                tensor::to_string(stored.entry.dtype));
  const std::int64_t rows = stored.entry.shape[0];
  KW_TRY(const StoredEntry* entry, find(checkpoint, folder, stored.entry.name + "_scale", {rows}));
  if (entry->entry.dtype != DType::kFloat16)
    return fail(ErrorCode::kInvalidArgument, "{} is {}, not float16", entry->where(),
                tensor::to_string(entry->entry.dtype));
  scales.resize(static_cast<std::size_t>(rows));
  std::memcpy(scales.data(), entry->bytes().data(), entry->entry.bytes);
  for (std::uint16_t scale : scales)
    if (!std::isfinite(tensor::half_to_float(scale)) || tensor::half_to_float(scale) < 0)
      return fail(ErrorCode::kInvalidArgument, "{} has a scale that is negative or not finite",
                  entry->where());
  return scales;
}

Status read_matrix(const Checkpoint& checkpoint, const fs::path& folder, const StoredEntry& stored,
                   const Matrix& out) {
  KW_TRY(auto scales, read_scales(checkpoint, folder, stored));
  const bool int8 = !scales.empty();
  const auto columns = static_cast<std::size_t>(out.columns);
  if (int8 && out.type == WeightType::kInt8) {
    std::memcpy(out.data, stored.bytes().data(), stored.entry.bytes);
    std::memcpy(out.scales, scales.data(), scales.size() * sizeof(scales[0]));
    return {};
  }
  const bool as_it_is =
      (stored.entry.dtype == DType::kFloat32 && out.type == WeightType::kFloat32) ||
      (stored.entry.dtype == DType::kBFloat16 && out.type == WeightType::kBFloat16);
  if (as_it_is) {
    const std::size_t bytes = columns * size_of(out.type);
    for (std::int64_t r = 0; r < out.rows; ++r) {
      std::memcpy(out.row(r), stored.bytes().data() + static_cast<std::size_t>(r) * bytes, bytes);
      if (!is_finite_row(out, r)) return refuse(stored, "not finite in row " + std::to_string(r));
    }
    return {};
  }
  std::vector<float> row(columns);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    tensor::load(stored.entry.dtype, stored.bytes(), static_cast<std::size_t>(r) * columns, row);
    if (int8) {
      const float scale = tensor::half_to_float(scales[static_cast<std::size_t>(r)]);
      for (float& value : row) value *= scale;
    }
    if (!all_finite(row)) return refuse(stored, "not finite in row " + std::to_string(r));
    encode_row(row, out, r);
  }
  return {};
}

// What the model does not have would silently not be computed.
Status refuse_left_over(const Checkpoint& checkpoint, const ModelConfig& config,
                        const std::vector<NamedParameter>& wanted) {
  std::set<std::string> known;
  for (const NamedParameter& one : wanted) {
    known.insert(one.name);
    known.insert(one.name + "_scale");
  }
  if (config.tied_embeddings) known.insert({"lm_head.weight", "lm_head.weight_scale"});
  for (const auto& [name, stored] : checkpoint.tensors) {
    bool computed = name.ends_with("rotary_emb.inv_freq");  // old checkpoints hold what follows
    if (!computed && known.count(name) == 0)
      return refuse(stored, "not part of a " + std::string(to_string(config.family)) + " model");
  }
  return {};
}

}  // namespace

Result<Parameters> load_checkpoint(const fs::path& folder, const ModelConfig& config,
                                   WeightType type) {
  KW_TRY(Checkpoint checkpoint, open(folder));
  KW_TRY(Parameters parameters, Parameters::make(config, type));
  const std::vector<NamedParameter> wanted = parameters.named();
  for (const NamedParameter& one : wanted) {
    KW_TRY([[maybe_unused]] const StoredEntry* there,
           find(checkpoint, folder, one.name, one.shape()));
  }
  KW_TRY_STATUS(refuse_left_over(checkpoint, config, wanted));
  std::mutex mutex;
  std::optional<Error> failure;
  auto read = [&](const NamedParameter& one) -> Status {
    KW_TRY(const StoredEntry* stored, find(checkpoint, folder, one.name, one.shape()));
    return one.is_matrix() ? read_matrix(checkpoint, folder, *stored, one.matrix)
                           : read_vector(*stored, one.vector);
  };
  os::in_parallel(wanted.size(), parameters.bytes(), [&](std::size_t i) {
    if (Status done = read(wanted[i]); !done) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::move(done).error();
    }
  });
  if (failure) return tl::unexpected(std::move(*failure));
  return parameters;
}

}  // namespace kw::lm
