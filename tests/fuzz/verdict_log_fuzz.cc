// The verdict log of a run that is gone on with: the traces' length (the first byte) decides what
// is cut; nothing is cut away that a commit counts.
#include "fuzz.h"
#include "kernelwright/eval/result_files.h"
#include "scratch_file.h"

namespace kw::fuzz {

KW_FUZZ(verdict_log, text) {
  std::size_t trace_bytes = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
  if (!text.empty()) text.remove_prefix(1);
  auto out = scratch().write("t.jsonl", std::string(trace_bytes, 't'));
  auto log = scratch().write("t.jsonl.verdicts.jsonl", text);
  front::ResultFiles::Options options{out, true, Json::object()};
  auto open = [&] {
    return front::ResultFiles::open(options, [](const task::Verdict&) { return Status(); });
  };
  if (!accepted(open())) return;
  auto size = std::filesystem::file_size(out);
  KW_CHECK(size <= trace_bytes);
  auto lines = std::filesystem::file_size(log);
  KW_CHECK(lines <= text.size());
  KW_CHECK(lines == 0 || text[lines - 1] == '\n');
  // Once more changes nothing.
  KW_CHECK(open());
  KW_CHECK(std::filesystem::file_size(out) == size);
  KW_CHECK(std::filesystem::file_size(log) == lines);
}

}  // namespace kw::fuzz
