// Abilities: what a worker's machine can judge; Needs: what a task asks of it. Plain values.
// docs/service.md, "Workers that differ".
#pragma once
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/judge.h"
#include "sandbox/sandbox.h"

namespace kw::service {

struct Needs {
  std::string target = {}, language = {};  // names; empty: any
  sandbox::Level isolation = sandbox::Level::kNone;

  // As it is stored: "cuda/triton/full". The queue's pool is the target, its kind the rest.
  std::string text() const { return target + "/" + kind(); }
  std::string kind() const;
};
// Whether a candidate in that language is compiled before its problem's reference has run.
bool is_compiled(const Needs& needs);
// Texts that nobody wrote need nothing.
Needs needs_of_text(std::string_view text);
// For people: "a worker that judges triton on cuda, with the isolation full".
std::string worker_for(const Needs& needs);

// A worker that says nothing of its abilities takes everything.
class Abilities {
 public:
  Abilities() = default;
  // languages: by target; an empty list stands for all.
  Abilities(std::map<std::string, std::vector<std::string>> languages, sandbox::Level isolation);

  bool cover(std::string_view target, std::string_view kind) const;
  bool cover(const Needs& needs) const { return cover(needs.target, needs.kind()); }
  bool is_everything() const { return text_.empty(); }
  // {"targets": {"cpu": ["cpp"]}, "isolation": "full"}; null for everything.
  Json to_json() const;
  // Equal abilities have equal texts.
  auto operator<=>(const Abilities& other) const { return text_ <=> other.text_; }
  bool operator==(const Abilities& other) const { return text_ == other.text_; }

 private:
  std::map<std::string, std::vector<std::string>> languages_ = {};
  sandbox::Level isolation_ = sandbox::Level::kFull;
  std::string text_ = {};
};
// kInvalidArgument names the key.
Result<Abilities> abilities_from_json(const Json& value, const std::string& where);
// Tells those of the targets that are available here; kUnsupported when none is, and why.
Result<Abilities> abilities_of(gym::Judge& judge);

}  // namespace kw::service
