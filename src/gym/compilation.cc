#include "gym/compilation.h"

#include "text/enum_names.h"

namespace kw::gym {
namespace {

constexpr auto kCompilations = text::enum_names<Compilation>({
    {Compilation::kNone, "eager"},
    {Compilation::kDefault, "compile"},
    {Compilation::kMaxAutotune, "max-autotune"},
});

}  // namespace

std::string_view to_string(Compilation compilation) {
  return kCompilations.name(compilation);
}
std::optional<Compilation> compilation_from_string(std::string_view name) {
  return kCompilations.value(name);
}

}  // namespace kw::gym
