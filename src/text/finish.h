// Finish: why a model's answer ended. Who produces or stores answers uses those reasons that it
// has.
#pragma once
#include <optional>
#include <string_view>

namespace kw::text {

enum class Finish {
  kStop,       // the answer is whole: the model's own end, or a stop string
  kLength,     // the answer was cut at the most tokens that it may have
  kCancelled,  // whoever asked wanted no more of it
  kContext,    // the prompt leaves no room for an answer: there is none
  kRefused,    // the server of the model does not give the answer out
};
std::string_view to_string(Finish finish);  // "stop", "length", "cancelled", "context", "refused"
std::optional<Finish> finish_from_string(std::string_view name);

}  // namespace kw::text
