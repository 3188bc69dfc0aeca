// The oracle's description of a module: its signature can be written, read and made into problem.h.
#include "fuzz.h"
#include "gym/checker/module_description.h"

namespace kw::fuzz {

KW_FUZZ(module_description, text) {
  auto description = gym::module_description_from_json(text);
  if (!accepted(description)) return;
  const task::Signature& signature = description->signature;
  KW_CHECK(signature.of_module());
  KW_CHECK(signature.statics.size() == description->static_is_constant.size());
  Json written = to_json(signature);
  auto again = task::signature_from_json(written, "signature");
  KW_CHECK(again);
  KW_CHECK(to_json(*again).dump() == written.dump());
  task::problem_header(signature, true);
}

}  // namespace kw::fuzz
