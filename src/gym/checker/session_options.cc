// Names of mechanisms.
#include "gym/checker/session_options.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace kw::gym {

Result<Mechanisms> Mechanisms::without(const std::vector<std::string>& disabled) {
  Mechanisms on;
  bool admission = true, hidden_shape = true;  // the evaluation's
  const std::pair<std::string_view, bool*> switches[] = {
      {"freeze", &on.freeze},
      {"poison", &on.poison},
      {"rehash", &on.rehash},
      {"moving_addresses", &on.moving_addresses},
      {"fresh_inputs", &on.fresh_inputs},
      {"canaries", &on.canaries},
      {"seal", &on.seal},
      {"interleaving", &on.interleaving},
      {"snapshot", &on.snapshot},
      {"check_timed", &on.check_timed},
      {"audit", &on.audit},
      {"clear", &on.clear},
      {"cpu_witness", &on.cpu_witness},
      {"mixed_inputs", &on.mixed_inputs},
      {"edges", &on.edges},
      {"admission", &admission},
      {"hidden_shape", &hidden_shape},
  };
  for (const std::string& name : disabled) {
    const auto* found =
        std::ranges::find(switches, name, &std::pair<std::string_view, bool*>::first);
    if (found == std::end(switches)) {
      std::vector<std::string> names;
      for (const auto& [known, flag] : switches) names.emplace_back(known);
      return fail(ErrorCode::kInvalidArgument, "--disable {}: no such mechanism; there are {}",
                  printable(name, 40), join(names, ", "));
    }
    *found->second = false;
  }
  return on;
}

}  // namespace kw::gym
