// Evidence bundles: a verdict made from one can be stored and read; a bundle whose digest does not
// fit is refused.
#include "base/hash.h"
#include "fuzz.h"
#include "gym/evidence.h"
#include "scratch_file.h"

namespace kw::fuzz {

KW_FUZZ(evidence, text) {
  accepted(gym::rejudge(scratch().write("e.json", text)));
  auto evidence = parse_json(text);
  if (!evidence) return;
  auto verdict = gym::verdict_from_evidence(*evidence);
  if (!accepted(verdict)) return;
  Json written = to_json(*verdict);
  auto again = task::verdict_from_json(written, "");
  KW_CHECK(again);
  KW_CHECK(to_json(*again).dump() == written.dump());
  Json bundle = {{"digest", sha256_hex(canonical_json(*evidence))}, {"evidence", *evidence}};
  auto stored = gym::rejudge(scratch().write("e.json", bundle.dump()));
  // The bundle is one level deeper than what is in it.
  if (!accepted(stored))
    KW_CHECK(stored.error().message().find("nested deeper") != std::string::npos);
}

}  // namespace kw::fuzz
