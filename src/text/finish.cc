#include "text/finish.h"

#include "text/enum_names.h"

namespace kw::text {
namespace {

constexpr auto kFinishes = enum_names<Finish>({{Finish::kStop, "stop"},
                                               {Finish::kLength, "length"},
                                               {Finish::kCancelled, "cancelled"},
                                               {Finish::kContext, "context"},
                                               {Finish::kRefused, "refused"}});

}  // namespace

std::string_view to_string(Finish finish) {
  return kFinishes.name(finish);
}

std::optional<Finish> finish_from_string(std::string_view name) {
  return kFinishes.value(name);
}

}  // namespace kw::text
