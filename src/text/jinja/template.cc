#include "text/jinja/template.h"

#include "text/jinja/evaluator.h"
#include "text/jinja/parser.h"

namespace kw::text::jinja {
namespace {

constexpr std::size_t kMaxSource = 1U << 20U;

}  // namespace

Result<Template> Template::compile(std::string_view source) {
  if (source.size() > kMaxSource)
    return fail(ErrorCode::kUnsupported, "longer than {} bytes", kMaxSource);
  KW_TRY(Block block, parse(source));
  return Template(std::move(block));
}

Result<std::string> Template::render(const Dict& variables) const {
  auto scope = std::make_shared<Scope>();
  for (const auto& [name, value] : variables) scope->values[name] = value;
  std::string out;
  KW_TRY([[maybe_unused]] auto flow, Evaluator().run(*block_, scope, out));
  return out;
}

}  // namespace kw::text::jinja
