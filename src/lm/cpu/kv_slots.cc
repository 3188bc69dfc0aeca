#include "lm/cpu/kv_slots.h"

#include <cstring>

#include "base/text.h"

namespace kw::lm::cpu {

Result<KvSlots> KvSlots::make(const ModelConfig& config, std::int64_t slots, std::int64_t context,
                              std::size_t element) {
  KvSlots out;
  out.layers_ = config.layers;
  out.slots_ = slots;
  out.heads_ = config.kv_heads;
  out.context_ = context;
  out.head_dim_ = config.head_dim;
  out.element_ = element;
  const std::size_t bytes = out.at(config.layers, 0, 0);
  auto memory = os::Mapping::anonymous(bytes);
  if (!memory)
    return fail(ErrorCode::kResourceExhausted,
                "no memory for {} of keys and values: {} slots of {} positions; lower the slots or "
                "the context",
                format_bytes(bytes), slots, context);
  out.memory_ = std::move(*memory);
  return out;
}

void KvSlots::copy(std::int64_t from, std::int64_t to, std::int64_t positions) const {
  const std::size_t bytes = static_cast<std::size_t>(positions * head_dim_) * element_;
  const std::size_t half = static_cast<std::size_t>(context_ * head_dim_) * element_;
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    for (std::int64_t head = 0; head < heads_; ++head) {
      std::byte* source = keys<std::byte>(layer, from, head);
      std::byte* target = keys<std::byte>(layer, to, head);
      std::memcpy(target, source, bytes);
      std::memcpy(target + half, source + half, bytes);
    }
  }
}

}  // namespace kw::lm::cpu
