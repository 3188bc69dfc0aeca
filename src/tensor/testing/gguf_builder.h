// GGUF files made in tests, right and wrong ones.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tensor/gguf.h"

namespace kw::tensor {

class GgufBuilder {
 public:
  template <typename T>
  static std::string raw(T value) {
    std::string out(sizeof(T), '\0');
    std::memcpy(out.data(), &value, sizeof(T));
    return out;
  }
  static std::string text(const std::string& value) {
    return raw<std::uint64_t>(value.size()) + value;
  }

  void key(const std::string& name, std::uint32_t type, const std::string& value) {
    keys_ += text(name) + raw(type) + value;
    ++key_count_;
  }
  void key(const std::string& name, std::uint32_t value) { key(name, 4, raw(value)); }
  void key(const std::string& name, float value) { key(name, 6, raw(value)); }
  void key(const std::string& name, const char* value) { key(name, 8, text(value)); }
  void key(const std::string& name, const std::vector<std::string>& values) {
    std::string all = raw<std::uint32_t>(8) + raw<std::uint64_t>(values.size());
    for (const std::string& value : values) all += text(value);
    key(name, 9, all);
  }
  void key(const std::string& name, const std::vector<std::int32_t>& values) {
    std::string all = raw<std::uint32_t>(5) + raw<std::uint64_t>(values.size());
    for (std::int32_t value : values) all += raw(value);
    key(name, 9, all);
  }

  // shape: outermost first.
  void tensor(const std::string& name, const std::vector<std::uint64_t>& shape, GgufType type,
              const std::string& data) {
    data_.resize((data_.size() + 31) / 32 * 32, '\0');
    tensors_ += text(name) + raw<std::uint32_t>(static_cast<std::uint32_t>(shape.size()));
    for (std::size_t at = shape.size(); at-- > 0;) tensors_ += raw(shape[at]);
    tensors_ += raw(static_cast<std::uint32_t>(type)) + raw<std::uint64_t>(data_.size());
    data_ += data;
    ++tensor_count_;
  }
  void tensor(const std::string& name, const std::vector<std::uint64_t>& shape,
              const std::vector<float>& values) {
    std::string data;
    for (float value : values) data += raw(value);
    tensor(name, shape, GgufType::kF32, data);
  }

  std::string file(std::uint32_t version = 3) const {
    std::string out = "GGUF" + raw(version) + raw<std::uint64_t>(tensor_count_) +
                      raw<std::uint64_t>(key_count_) + keys_ + tensors_;
    out.resize((out.size() + 31) / 32 * 32, '\0');
    return out + data_;
  }

 private:
  std::string keys_, tensors_, data_;
  std::uint64_t key_count_ = 0, tensor_count_ = 0;
};

inline std::span<const std::byte> file_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace kw::tensor
