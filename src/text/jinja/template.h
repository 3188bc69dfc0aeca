// Jinja templates as chat templates use them: Jinja 3.1 with the settings of transformers
// (trim_blocks, lstrip_blocks, loop controls, {% generation %}), and nothing else.
//
// What is rendered equals what Jinja renders. Whatever is not known is refused, when a template is
// compiled or when it is rendered: a refused prompt is better than another one. Templates come with
// models, so that size, steps and nesting have limits.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/jinja/syntax.h"
#include "text/jinja/value.h"

namespace kw::text::jinja {

// Immutable: any number of threads may render it.
class Template {
 public:
  // source is UTF-8 of at most 1 MiB. kInvalidArgument for what is no template, kUnsupported for
  // statements that are not read; both name the line.
  static Result<Template> compile(std::string_view source);

  // The text for these variables. kInvalidArgument: the template's own reason (raise_exception), or
  // what Jinja would raise; kUnsupported: a filter, function or method that is not read. Both begin
  // with the line.
  Result<std::string> render(const Dict& variables) const;

 private:
  explicit Template(Block block) : block_(std::make_shared<const Block>(std::move(block))) {}
  std::shared_ptr<const Block> block_;
};

}  // namespace kw::text::jinja
