// Solution codec.
#include "task/solution_json.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "task/flags.h"
#include "task/launch_comments.h"
#include "task/target.h"
#include "text/base64.h"
#include "text/names.h"
#include "text/text_file.h"

namespace kw::task {
namespace {

// FlashInfer-Bench's languages; ptx and cubin are "cuda" there and named under "kernelwright".
const std::vector<std::string> kSpecLanguages = {"python", "triton", "cpp", "cuda", "tilelang"};

Result<Language> language_from_spec(ObjectReader& spec) {
  KW_TRY(std::string name, spec.string("language"));
  std::optional<Language> language = language_from_string(name);
  if (language &&
      std::find(kSpecLanguages.begin(), kSpecLanguages.end(), name) != kSpecLanguages.end())
    return *language;
  return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not one of {}{}", spec.path("language"),
              printable(name, 60), join(kSpecLanguages, ", "),
              text::suggestion(name, kSpecLanguages));
}

Status entry_from_spec(ObjectReader& spec, Candidate& out) {
  KW_TRY(std::string entry, spec.string("entry_point"));
  auto at = entry.find("::");
  if (at == std::string::npos || entry.find("::", at + 1) != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected \"file::function\", found \"{}\"",
                spec.path("entry_point"), printable(entry, 120));
  }
  out.entry_file = entry.substr(0, at);
  out.entry_function = entry.substr(at + 2);
  if (!text::is_identifier(out.entry_function)) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not a function's name",
                spec.path("entry_point"), printable(out.entry_function, 80));
  }
  return {};
}

Status spec_from_json(ObjectReader& reader, Candidate& out) {
  KW_TRY(const Json* value, reader.get("spec"));
  KW_TRY(ObjectReader spec, ObjectReader::make(*value, reader.path("spec")));
  KW_TRY(out.language, language_from_spec(spec));
  KW_TRY(out.target_hardware, spec.strings_or_empty("target_hardware"));
  bool has_empty = std::any_of(out.target_hardware.begin(), out.target_hardware.end(),
                               [](const auto& t) { return t.empty(); });
  if (out.target_hardware.empty() || has_empty) {
    return fail(ErrorCode::kInvalidArgument, "{}: at least one name is needed",
                spec.path("target_hardware"));
  }
  KW_TRY_STATUS(entry_from_spec(spec, out));
  KW_TRY(out.dependencies, spec.strings_or_empty("dependencies"));
  KW_TRY(out.destination_passing, spec.boolean_or("destination_passing_style", true));
  out.destination_passing_given = true;  // the format's default is as good as written
  KW_TRY(out.binding, spec.string_or("binding", ""));
  if (!out.binding.empty() && out.binding != "tvm-ffi" && out.binding != "torch") {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not one of tvm-ffi, torch, null{}",
                spec.path("binding"), printable(out.binding, 60),
                text::suggestion(out.binding, {"tvm-ffi", "torch"}));
  }
  return spec.no_other_keys();
}

Result<SourceFile> source_file_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  SourceFile out;
  KW_TRY(out.path, reader.string("path"));
  KW_TRY_STATUS(text::check_relative_path(out.path, reader.path("path")));
  KW_TRY(out.content, reader.string("content"));
  KW_TRY_STATUS(reader.no_other_keys());
  if (out.content.size() > text::kMaxSourceFile) {
    return fail(ErrorCode::kInvalidArgument, "{}: over {}", reader.path("content"),
                format_bytes(text::kMaxSourceFile));
  }
  return out;
}

// No path twice, and none that is a folder of another.
Status check_paths(const std::vector<SourceFile>& sources, const std::string& where) {
  std::set<std::string> files;
  std::set<std::string> folders;
  for (const SourceFile& source : sources) {
    if (!files.insert(source.path).second) {
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is given twice", where,
                  printable(source.path, 80));
    }
    for (auto at = source.path.find('/'); at != std::string::npos;
         at = source.path.find('/', at + 1)) {
      folders.insert(source.path.substr(0, at));
    }
  }
  for (const std::string& file : files) {
    if (folders.contains(file)) {
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is a file and a folder", where,
                  printable(file, 80));
    }
  }
  return {};
}

Status sources_from_json(ObjectReader& reader, Candidate& out) {
  KW_TRY(const Json* value, reader.get("sources"));
  std::string where = reader.path("sources");
  if (!value->is_array() || value->empty() || value->size() > kMaxSolutionFiles) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of 1 to {} files", where,
                kMaxSolutionFiles);
  }
  std::size_t total = 0;
  for (const Json& item : *value) {
    KW_TRY(SourceFile source,
           source_file_from_json(item, fmt::format("{}[{}]", where, out.sources.size())));
    total += source.content.size();
    out.sources.push_back(std::move(source));
  }
  if (total > kMaxSolutionBytes) {
    return fail(ErrorCode::kInvalidArgument, "{}: over {} together", where,
                format_bytes(kMaxSolutionBytes));
  }
  KW_TRY_STATUS(check_paths(out.sources, where));
  const SourceFile* entry = out.entry_source();
  if (entry == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not among the sources",
                text::below(reader.path("spec"), "entry_point"), printable(out.entry_file, 80));
  }
  if (trim(entry->content).empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is empty", where,
                printable(out.entry_file, 80));
  }
  return {};
}

Status additions_language(ObjectReader& extra, Candidate& out) {
  if (extra.find("language") == nullptr) return {};
  KW_TRY(std::string name, extra.string("language"));
  if ((name != "ptx" && name != "cubin") || out.language != Language::kCuda) {
    return fail(ErrorCode::kInvalidArgument, "{}: only ptx or cubin, with spec.language cuda",
                extra.path("language"));
  }
  out.language = name == "ptx" ? Language::kPtx : Language::kCubin;
  return {};
}

Status launches_from_json(ObjectReader& extra, Candidate& out) {
  const Json* value = extra.find("launches");
  if (value == nullptr) return {};
  std::string where = extra.path("launches");
  if (!value->is_array() || value->empty() || value->size() > 64) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of 1 to 64 launches", where);
  }
  if (!facts_of(out.language).is_device_code) {
    return fail(ErrorCode::kInvalidArgument, "{}: only for cuda, ptx and cubin", where);
  }
  for (const Json& item : *value) {
    KW_TRY(LaunchDescriptor launch,
           launch_from_json(item, fmt::format("{}[{}]", where, out.launches.size())));
    out.launches.push_back(std::move(launch));
  }
  return {};
}

Status scratch_list_from_json(ObjectReader& extra, Candidate& out) {
  const Json* value = extra.find("scratch");
  if (value == nullptr) return {};
  std::string where = extra.path("scratch");
  if (!value->is_array() || value->empty() || value->size() > 64) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of 1 to 64 buffers", where);
  }
  if (out.launches.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: only with launches", where);
  for (const Json& item : *value) {
    KW_TRY(ScratchDescriptor one,
           scratch_from_json(item, fmt::format("{}[{}]", where, out.scratch.size())));
    out.scratch.push_back(std::move(one));
  }
  return {};
}

Status additions_from_json(ObjectReader& reader, Candidate& out) {
  const Json* value = reader.find("kernelwright");
  if (value == nullptr) return {};
  KW_TRY(ObjectReader extra, ObjectReader::make(*value, reader.path("kernelwright")));
  KW_TRY_STATUS(additions_language(extra, out));
  KW_TRY(out.flags, extra.strings_or_empty("flags"));
  if (!out.flags.empty() && out.language != Language::kCpp) {
    return fail(ErrorCode::kInvalidArgument, "{}: only for cpp", extra.path("flags"));
  }
  auto allowed = check_flags(out.flags);
  if (!allowed) return tl::unexpected(std::move(allowed).error().with_context(extra.where()));
  KW_TRY_STATUS(launches_from_json(extra, out));
  KW_TRY_STATUS(scratch_list_from_json(extra, out));
  return extra.no_other_keys();
}

// A cubin is not text: its files stand in JSON as base64.
Status decode_cubin(Candidate& out, const std::string& where) {
  if (out.language != Language::kCubin) return {};
  for (SourceFile& source : out.sources) {
    auto bytes = text::from_base64(source.content);
    if (!bytes)
      return tl::unexpected(
          std::move(bytes).error().with_context(fmt::format("{}: {}", where, source.path)));
    source.content = std::move(*bytes);
  }
  return {};
}

// A C++ entry file may ask for flags in a comment, in a solution as in a bare file.
Status launches_from_comments(Candidate& out) {
  const bool text = out.language == Language::kCuda || out.language == Language::kPtx;
  if (!text || !out.launches.empty()) return {};
  auto found = device_comments(out.entry_source()->content);
  if (!found) return tl::unexpected(std::move(found).error().with_context(out.entry_file));
  out.launches = std::move(found->launches);
  out.scratch = std::move(found->scratch);
  return {};
}

Status flags_from_comment(Candidate& out) {
  if (out.language != Language::kCpp || !out.flags.empty()) return {};
  auto flags = flags_in_comments(out.entry_source()->content);
  if (!flags) return tl::unexpected(std::move(flags).error().with_context(out.entry_file));
  out.flags = std::move(*flags);
  return {};
}

}  // namespace

Result<Candidate> solution_from_json(const Json& value, const std::string& where) {
  KW_TRY(Candidate out, solution_without_hash(value, where));
  out.hash = candidate_hash(out);
  return out;
}

Result<Candidate> solution_without_hash(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Candidate out;
  KW_TRY(out.name, reader.string("name"));
  KW_TRY_STATUS(text::check_title(out.name, reader.path("name")));
  KW_TRY(out.definition, reader.string("definition"));
  KW_TRY_STATUS(text::check_title(out.definition, reader.path("definition")));
  KW_TRY(out.author, reader.string("author"));
  KW_TRY_STATUS(text::check_title(out.author, reader.path("author")));
  KW_TRY(out.description, reader.string_or("description", ""));
  KW_TRY_STATUS(spec_from_json(reader, out));
  KW_TRY_STATUS(sources_from_json(reader, out));
  KW_TRY_STATUS(additions_from_json(reader, out));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(decode_cubin(out, reader.path("sources")));
  KW_TRY_STATUS(flags_from_comment(out));
  KW_TRY_STATUS(launches_from_comments(out));
  return out;
}

Json solution_to_json(const Candidate& candidate, const std::string& definition) {
  bool renamed = candidate.language == Language::kPtx || candidate.language == Language::kCubin;
  const bool on_cpu = route(candidate.language, Target::kCpu) == Target::kCpu;
  std::vector<std::string> hardware = candidate.target_hardware;
  if (hardware.empty()) hardware.emplace_back(to_string(on_cpu ? Target::kCpu : Target::kCuda));
  Json out = {{"name", candidate.name},
              {"definition", candidate.definition.empty() ? definition : candidate.definition},
              {"author", candidate.author.empty() ? "unknown" : candidate.author}};
  if (!candidate.description.empty()) out["description"] = candidate.description;
  out["spec"] = {{"language", renamed ? "cuda" : to_string(candidate.language)},
                 {"target_hardware", hardware},
                 {"entry_point",
                  candidate.entry_file +
                      "::" + (candidate.entry_function.empty() ? "run" : candidate.entry_function)},
                 {"dependencies", candidate.dependencies},
                 {"destination_passing_style", candidate.destination_passing},
                 {"binding", candidate.binding.empty() ? Json(nullptr) : Json(candidate.binding)}};
  out["sources"] = Json::array();
  for (const SourceFile& source : candidate.sources) {
    std::string content =
        candidate.language == Language::kCubin ? text::to_base64(source.content) : source.content;
    out["sources"].push_back({{"path", source.path}, {"content", std::move(content)}});
  }
  Json extra = Json::object();
  if (renamed) extra["language"] = to_string(candidate.language);
  if (!candidate.flags.empty()) extra["flags"] = candidate.flags;
  for (const LaunchDescriptor& launch : candidate.launches)
    extra["launches"].push_back(to_json(launch));
  for (const ScratchDescriptor& one : candidate.scratch) extra["scratch"].push_back(to_json(one));
  if (!extra.empty()) out["kernelwright"] = std::move(extra);
  return out;
}

}  // namespace kw::task
