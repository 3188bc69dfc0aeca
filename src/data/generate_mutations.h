// Right kernels made wrong, each in one of the ways in which people's kernels are wrong.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "task/candidate.h"

namespace kw::data {

struct Mutant {
  std::string kind;    // "missing_mask", ...
  std::string source;  // differs from what was given
};

// Kinds that exist for a language.
std::vector<std::string_view> mutation_kinds(task::Language language);

// One that is possible in this source, at one of its places; nullopt: none is. Whether the result
// is wrong is for the gym to find.
std::optional<Mutant> mutate(std::string_view source, task::Language language, Rng& rng);
// Of one kind; nullopt: it has no place in the source.
std::optional<Mutant> mutate(std::string_view source, task::Language language,
                             std::string_view kind, Rng& rng);

}  // namespace kw::data
