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
  std::string source;  // differs from the source that was given
};

// Kinds that exist for a language.
std::vector<std::string_view> mutation_kinds(task::Language language);

// Makes one of the mutations that are possible in this source, at one of its places; nullopt where
// none is. The gym decides whether the result is wrong.
std::optional<Mutant> mutate(std::string_view source, task::Language language, Rng& rng);
// Makes a mutation of this kind; nullopt where the source has no place for it.
std::optional<Mutant> mutate(std::string_view source, task::Language language,
                             std::string_view kind, Rng& rng);

}  // namespace kw::data
