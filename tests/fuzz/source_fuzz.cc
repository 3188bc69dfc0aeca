// Source files of candidates with their "// flags:" and "// launch:" lines. The first byte decides
// the extension.
#include "fuzz.h"
#include "scratch_file.h"
#include "task/candidate_source.h"
#include "task/flags.h"
#include "task/solution_json.h"

namespace kw::fuzz {

KW_FUZZ(source, text) {
  if (text.empty()) return;
  constexpr std::string_view kKinds[] = {".cpp", ".cu", ".ptx", ".cubin", ".py"};
  std::string name = "c" + std::string(kKinds[static_cast<unsigned char>(text[0]) % 5]);
  auto candidate = task::load_candidate(scratch().write(name, text.substr(1)));
  if (!accepted(candidate)) return;
  KW_CHECK(candidate->sources.size() == 1);
  KW_CHECK(candidate->sources[0].content == text.substr(1));
  KW_CHECK(task::check_flags(candidate->flags));
  Json written = task::solution_to_json(*candidate, "d");
  auto again = task::solution_from_json(written, "");
  // A solution's file must not be blank; a bare file's content is the compiler's business.
  if (!accepted(again)) return;
  KW_CHECK(again->sources[0].content == candidate->sources[0].content);
  KW_CHECK(again->flags == candidate->flags);
  KW_CHECK(again->launches.size() == candidate->launches.size());
}

}  // namespace kw::fuzz
