#include "train/parallel/agreement.h"

#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace kw::train {
namespace {

std::string shown(const Json& value) {
  return value.is_null() ? "not there" : printable(value.dump(), 80);
}

}  // namespace

Status agree(Group& group, const Json& mine) {
  KW_TRY(const std::vector<std::string> all, group.exchange(mine.dump()));
  KW_TRY(const Json first, parse_json(all.front()));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    KW_TRY(const Json other, parse_json(all[rank]));
    std::set<std::string> keys;
    for (const Json* one : {&first, &other})
      for (const auto& [key, value] : one->items()) keys.insert(key);
    for (const std::string& key : keys) {
      const Json here = first.value(key, Json()), there = other.value(key, Json());
      if (here != there)
        return fail(ErrorCode::kInvalidArgument,
                    "{}: {} on rank {}, and {} on rank 0; all ranks need the same", key,
                    shown(there), rank, shown(here));
    }
  }
  return {};
}

}  // namespace kw::train
