// Shards are written beside their names and renamed when they are complete.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "lm/model/checkpoint.h"
#include "os/file.h"
#include "tensor/half.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;

// A tensor of a file: a parameter, or the scales of an int8 one.
struct Piece {
  const NamedParameter* parameter = nullptr;
  bool scales = false;
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

struct Shard {
  std::vector<Piece> pieces;
  std::uint64_t bytes = 0;
};

Piece piece_of(const NamedParameter& one, WeightType type) {
  Piece piece{&one,        false, one.name, type == WeightType::kBFloat16 ? "BF16" : "F32",
              one.shape(), 0};
  std::size_t element = type == WeightType::kBFloat16 ? 2 : 4;
  if (type == WeightType::kInt8 && one.is_matrix()) {
    piece.dtype = "I8";
    element = 1;
  }
  piece.bytes = element;
  for (std::int64_t size : piece.shape) piece.bytes *= static_cast<std::uint64_t>(size);
  return piece;
}

std::vector<Shard> shards_of(const std::vector<NamedParameter>& all, const SaveOptions& options) {
  std::vector<Shard> shards(1);
  auto add = [&](Piece piece) {
    if (!shards.back().pieces.empty() && shards.back().bytes + piece.bytes > options.shard_bytes)
      shards.emplace_back();
    shards.back().bytes += piece.bytes;
    shards.back().pieces.push_back(std::move(piece));
  };
  for (const NamedParameter& one : all) {
    Piece piece = piece_of(one, options.type);
    bool int8 = piece.dtype == "I8";
    add(std::move(piece));
    if (int8)
      add({&one,
           true,
           one.name + "_scale",
           "F16",
           {one.matrix.rows},
           2 * static_cast<std::uint64_t>(one.matrix.rows)});
  }
  return shards;
}

std::string header_of(const Shard& shard) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::uint64_t offset = 0;
  for (const Piece& piece : shard.pieces) {
    header[piece.name] = {{"dtype", piece.dtype},
                          {"shape", piece.shape},
                          {"data_offsets", {offset, offset + piece.bytes}}};
    offset += piece.bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data begin at a multiple of 8
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>((static_cast<std::uint64_t>(text.size()) >> (8 * i)) & 0xFFU);
  return length + text;
}

// Rows of a matrix as another type, or of a vector as one row.
class PieceWriter {
 public:
  PieceWriter(std::ofstream& out, WeightType type) : out_(out), type_(type) {}

  void write(const Piece& piece) {
    const NamedParameter& one = *piece.parameter;
    if (!one.is_matrix()) {
      row(one.vector, type_ == WeightType::kInt8 ? WeightType::kFloat32 : type_, false);
      return;
    }
    if (one.matrix.type == type_) {
      const auto rows = static_cast<std::size_t>(one.matrix.rows);
      if (piece.scales)
        raw(one.matrix.scales, 2 * rows);
      else
        raw(one.matrix.data, piece.bytes);
      return;
    }
    std::vector<float> values(static_cast<std::size_t>(one.matrix.columns));
    for (std::int64_t r = 0; r < one.matrix.rows; ++r) {
      decode_row(one.matrix, r, values);
      row(values, type_, piece.scales);
    }
  }

 private:
  void raw(const void* data, std::size_t bytes) {
    out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  }
  void row(std::span<const float> values, WeightType type, bool scale_only) {
    std::uint16_t scale = 0;
    encoded_.resize(values.size() * size_of(type));
    Matrix one{type, 1, static_cast<std::int64_t>(values.size()), encoded_.data(), &scale};
    encode_row(values, one, 0);
    if (scale_only)
      raw(&scale, sizeof(scale));
    else
      raw(encoded_.data(), encoded_.size());
  }

  std::ofstream& out_;
  WeightType type_;
  std::vector<std::byte> encoded_;
};

Status write_shard(const fs::path& path, const Shard& shard, const SaveOptions& options) {
  const fs::path part = path.string() + ".part";
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  const std::string header = header_of(shard);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  PieceWriter writer(out, options.type);
  for (const Piece& piece : shard.pieces) {
    writer.write(piece);
    if (options.between) options.between();
  }
  out.close();
  std::error_code error;
  if (out) fs::rename(part, path, error);
  if (!out || error) {
    fs::remove(part, error);
    return fail(ErrorCode::kResourceExhausted, "{}: cannot be written", path.string());
  }
  return {};
}

std::string shard_name(std::size_t index, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

Status write_index(const fs::path& folder, const std::vector<Shard>& shards) {
  if (shards.size() == 1) return {};
  Json map = Json::object();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    total += shards[i].bytes;
    for (const Piece& piece : shards[i].pieces) map[piece.name] = shard_name(i, shards.size());
  }
  Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}};
  return os::write_file_atomic(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace

Status save_checkpoint(const fs::path& folder, const Parameters& parameters,
                       const SaveOptions& options) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const char* name : {"config.json", "model.safetensors", "model.safetensors.index.json"})
    if (fs::exists(folder / name, error))
      return fail(ErrorCode::kAlreadyExists, "{} is there already", (folder / name).string());
  const std::vector<NamedParameter> all = parameters.named();
  const std::vector<Shard> shards = shards_of(all, options);
  for (std::size_t i = 0; i < shards.size(); ++i)
    KW_TRY_STATUS(write_shard(folder / shard_name(i, shards.size()), shards[i], options));
  KW_TRY_STATUS(write_index(folder, shards));
  ModelConfig config = parameters.config();
  config.dtype = options.type == WeightType::kBFloat16 ? "bfloat16" : "float32";
  Json value = to_json(config);
  if (options.type == WeightType::kInt8)
    value["quantization_config"] = {
        {"quant_method", "kernelwright_int8"}, {"bits", 8}, {"symmetric", true}, {"scale", "row"}};
  return os::write_file_atomic(folder / "config.json", value.dump(2) + "\n");
}

}  // namespace kw::lm
