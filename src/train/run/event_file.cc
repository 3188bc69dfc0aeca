#include "train/run/event_file.h"

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace kw::train {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr const char* kPrefix = "events.out.tfevents.";

template <typename T>
void append_bytes(std::string& out, T value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  out.append(bytes.data(), bytes.size());
}

// Protocol buffers: a field is its number and wire type, then the value.
enum class Wire : unsigned { kVarint = 0, kEight = 1, kBytes = 2, kFour = 5 };

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value /= 128) out.push_back(static_cast<char>(value % 128 + 128));
  out.push_back(static_cast<char>(value));
}
void append_key(std::string& out, unsigned field, Wire wire) {
  append_varint(out, field * 8 + static_cast<unsigned>(wire));
}
void append_text(std::string& out, unsigned field, std::string_view text) {
  append_key(out, field, Wire::kBytes);
  append_varint(out, text.size());
  out += text;
}

// Event: wall_time = 1, step = 2, then one of file_version = 3, summary = 5, session_log = 7.
std::string event_of(double wall_time, std::int64_t step, unsigned field, std::string_view what) {
  std::string out;
  append_key(out, 1, Wire::kEight);
  append_bytes(out, wall_time);
  if (step != 0) {
    append_key(out, 2, Wire::kVarint);
    append_varint(out, static_cast<std::uint64_t>(step));
  }
  append_text(out, field, what);
  return out;
}

// Summary: repeated value = 1, each with tag = 1 and simple_value = 2.
void append_scalar(std::string& summary, std::string_view tag, double value) {
  std::string one;
  append_text(one, 1, tag);
  append_key(one, 2, Wire::kFour);
  append_bytes(one, static_cast<float>(value));
  append_text(summary, 1, one);
}

void append_scalars(std::string& summary, const std::string& prefix, const Json& row) {
  for (const auto& [key, value] : row.items()) {
    if (value.is_object()) append_scalars(summary, prefix + key + "/", value);
    if (value.is_number() && key != "step" && std::isfinite(value.get<double>()))
      append_scalar(summary, prefix + key, value.get<double>());
  }
}

std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U;
}

Status remove_earlier(const fs::path& run) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run, error))
    if (entry.path().filename().string().starts_with(kPrefix)) fs::remove(entry.path(), error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot remove the event files of {}: {}",
                run.string(), error.message());
  return {};
}

}  // namespace

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value / 2 ^ (value % 2 == 1 ? 0x82F63B78U : 0);
      out[i] = value;
    }
    return out;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes)
    crc = table[(crc ^ static_cast<unsigned char>(byte)) % 256] ^ crc / 256;
  return ~crc;
}

Result<EventFile> EventFile::begin(const fs::path& run, bool resume, std::int64_t step,
                                   double wall_time) {
  if (!resume) KW_TRY_STATUS(remove_earlier(run));
  EventFile out(run / fmt::format("{}{:010}.{}.kernelwright", kPrefix,
                                  static_cast<std::int64_t>(wall_time), step));
  KW_TRY_STATUS(out.write(event_of(wall_time, 0, 3, "brain.Event:2")));
  // SessionLog: status = 1, START = 1. Readers drop what they have of this step and later ones.
  KW_TRY_STATUS(out.write(event_of(wall_time, step + 1, 7, "\x08\x01")));
  return out;
}

Status EventFile::add(const Json& row, double wall_time, std::string_view prefix) {
  std::string summary;
  append_scalars(summary, std::string(prefix), row);
  return write(event_of(wall_time, row.value("step", std::int64_t{0}), 5, summary));
}

Status EventFile::write(std::string_view event) {
  std::string length;
  append_bytes(length, std::uint64_t{event.size()});
  std::string record = length;
  append_bytes(record, masked_crc(length));
  record += event;
  append_bytes(record, masked_crc(event));
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
  file_.flush();
  if (!file_)
    return fail(ErrorCode::kResourceExhausted, "cannot write {}: is the disk full?",
                path_.string());
  return {};
}

}  // namespace kw::train
