// Keys and values of a fixed number of sequences.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "lm/model/model_config.h"
#include "os/memory.h"

namespace kw::lm::cpu {

// [layer][slot][kv head][keys, values][context, d], elements of float32 or bfloat16.
class KvSlots {
 public:
  KvSlots() = default;
  static Result<KvSlots> make(const ModelConfig& config, std::int64_t slots, std::int64_t context,
                              std::size_t element);

  template <typename T>
  T* keys(std::int64_t layer, std::int64_t slot, std::int64_t head) const {
    return reinterpret_cast<T*>(memory_.data() + at(layer, slot, head));
  }
  template <typename T>
  T* values(std::int64_t layer, std::int64_t slot, std::int64_t head) const {
    return keys<T>(layer, slot, head) + context_ * head_dim_;
  }
  void copy(std::int64_t from, std::int64_t to, std::int64_t positions) const;

 private:
  std::size_t at(std::int64_t layer, std::int64_t slot, std::int64_t head) const {
    return static_cast<std::size_t>(((layer * slots_ + slot) * heads_ + head) * 2 * context_ *
                                    head_dim_) *
           element_;
  }

  os::Mapping memory_;
  std::int64_t layers_ = 0, slots_ = 0, heads_ = 0, context_ = 0, head_dim_ = 0;
  std::size_t element_ = 4;
};

}  // namespace kw::lm::cpu
