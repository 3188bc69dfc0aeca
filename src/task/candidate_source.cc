// Recognises the forms of candidates.
#include "task/candidate_source.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

#include "base/check.h"
#include "base/text.h"
#include "task/flags.h"
#include "task/launch_comments.h"
#include "task/solution_json.h"
#include "text/jsonl.h"
#include "text/names.h"
#include "text/text_file.h"

namespace kw::task {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kForms = ".cpp, .cc, .cu, .ptx, .cubin, .py, .json or .jsonl";

// The first language of the table that has the extension; Python's say by their content which it
// is.
std::optional<Language> language_of(const std::string& extension, std::string_view content) {
  for (const LanguageFacts& facts : all_languages()) {
    if (std::ranges::find(facts.extensions, extension) == facts.extensions.end()) continue;
    if (facts.syntax != Syntax::kPython) return facts.language;
    return content.find("triton.jit") != std::string_view::npos ? Language::kTriton
                                                                : Language::kPython;
  }
  return std::nullopt;
}

bool is_source(const std::string& extension) {
  return language_of(extension, "").has_value();
}

Status read_comments(Candidate& candidate) {
  const std::string& content = candidate.sources[0].content;
  if (candidate.language == Language::kCpp) {
    KW_TRY(candidate.flags, flags_in_comments(content));
  }
  if (candidate.language == Language::kCuda || candidate.language == Language::kPtx) {
    KW_TRY(DeviceComments found, device_comments(content));
    candidate.launches = std::move(found.launches);
    candidate.scratch = std::move(found.scratch);
  }
  return {};
}

Result<Candidate> from_named_source(const fs::path& path, std::string content,
                                    std::optional<Language> language) {
  if (path.extension() != ".cubin" && content.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "{}: has NUL bytes", path.string());
  }
  Candidate out;
  out.name = path.stem().string();
  out.entry_file = path.filename().string();
  KW_TRY_STATUS(text::check_title(out.entry_file, path.string()));
  if (!language) language = language_of(path.extension().string(), content);
  KW_CHECK(language);  // the caller asked whether it is a source
  out.language = *language;
  bool finds_entry = out.language == Language::kPython || out.language == Language::kTriton;
  if (!finds_entry) out.entry_function = "run";
  out.sample = kernelbench_sample(out.entry_file);
  out.sources.push_back({out.entry_file, std::move(content)});
  auto comments = read_comments(out);
  if (!comments) return tl::unexpected(std::move(comments).error().with_context(path.string()));
  out.hash = candidate_hash(out);
  return out;
}

Result<Candidate> from_source(const fs::path& path) {
  bool binary = path.extension() == ".cubin";
  KW_TRY(std::string content, binary ? text::read_bytes(path, text::kMaxSourceFile)
                                     : text::read_text(path, text::kMaxSourceFile));
  return from_named_source(path, std::move(content), std::nullopt);
}

Result<Candidate> from_solution(const fs::path& path) {
  // JSON escapes can double a solution's size.
  KW_TRY(Json value, text::read_json(path, 2 * kMaxSolutionBytes));
  auto candidate = solution_from_json(value, "");
  if (!candidate) return tl::unexpected(std::move(candidate).error().with_context(path.string()));
  return candidate;
}

Result<std::vector<Candidate>> from_lines(const fs::path& path) {
  KW_TRY(std::string text, text::read_text(path, text::kMaxDataFile));
  std::vector<Candidate> out;
  auto read = [&](const Json& line) -> Status {
    KW_TRY(Candidate candidate, solution_from_json(line, ""));
    out.push_back(std::move(candidate));
    return {};
  };
  KW_TRY_STATUS(text::for_each_json_line(text, path.string(), read));
  return out;
}

bool is_hidden(const fs::path& path, const fs::path& below) {
  for (const fs::path& part : path.lexically_relative(below)) {
    std::string name = part.string();
    if (name.starts_with(".") || name == "__pycache__") return true;
  }
  return false;
}

Result<std::vector<fs::path>> candidate_files(const fs::path& folder) {
  std::vector<fs::path> out;
  for (std::string_view extension :
       {".cpp", ".cc", ".cu", ".ptx", ".cubin", ".py", ".json", ".jsonl"}) {
    KW_TRY(auto files, text::files_with_extension(folder, extension, true));
    for (fs::path& file : files) {
      if (!is_hidden(file, folder)) out.push_back(std::move(file));
    }
  }
  bool run_folder = std::any_of(out.begin(), out.end(), [](const fs::path& p) {
    return kernelbench_sample(p.filename().string()).has_value();
  });
  if (run_folder)
    std::erase_if(out,
                  [](const fs::path& p) { return !kernelbench_sample(p.filename().string()); });
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    return text::natural_less(a.string(), b.string());
  });
  return out;
}

}  // namespace

Result<Candidate> candidate_from_source(const std::string& file_name, std::string content,
                                        std::optional<Language> language) {
  if (!language && !is_source(fs::path(file_name).extension().string()))
    return fail(ErrorCode::kInvalidArgument, "{}: not a source file", file_name);
  if (trim(content).empty()) return fail(ErrorCode::kInvalidArgument, "{}: empty", file_name);
  if (content.size() > text::kMaxSourceFile)
    return fail(ErrorCode::kInvalidArgument, "{}: {} bytes are more than {}", file_name,
                content.size(), text::kMaxSourceFile);
  if (!is_valid_utf8(content)) return fail(ErrorCode::kInvalidArgument, "{}: not UTF-8", file_name);
  return from_named_source(file_name, std::move(content), language);
}

Result<Candidate> candidate_from_files(Language language, std::vector<SourceFile> files) {
  KW_TRY(Candidate out,
         candidate_from_source(files[0].path, std::move(files[0].content), language));
  if (files.size() == 1) return out;
  std::move(files.begin() + 1, files.end(), std::back_inserter(out.sources));
  out.hash = candidate_hash(out);
  return out;
}

Result<Candidate> load_candidate(const fs::path& path) {
  KW_TRY(std::vector<Candidate> candidates, load_candidates(path));
  if (candidates.size() == 1) return std::move(candidates[0]);
  return fail(ErrorCode::kInvalidArgument, "{}: expected one candidate, found {}", path.string(),
              candidates.size());
}

Result<std::vector<Candidate>> load_candidates(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return fail(ErrorCode::kNotFound, "{}: no such file or folder", printable(path.string(), 300));
  std::vector<fs::path> files = {path};
  bool is_folder = fs::is_directory(path, ignored);
  if (is_folder) {
    KW_TRY(files, candidate_files(path));
  }
  std::vector<Candidate> out;
  for (const fs::path& file : files) {
    std::string extension = file.extension().string();
    if (extension == ".jsonl") {
      KW_TRY(auto several, from_lines(file));
      std::move(several.begin(), several.end(), std::back_inserter(out));
      continue;
    }
    if (extension != ".json" && !is_source(extension)) {
      return fail(ErrorCode::kInvalidArgument, "{}: not a candidate; expected {}", file.string(),
                  kForms);
    }
    KW_TRY(Candidate candidate, extension == ".json" ? from_solution(file) : from_source(file));
    out.push_back(std::move(candidate));
  }
  if (out.empty())
    return fail(ErrorCode::kNotFound, "{}: no candidates in it ({})", path.string(), kForms);
  return out;
}

std::optional<KernelBenchSample> kernelbench_sample(std::string_view file_name) {
  KernelBenchSample out;
  auto take = [&](std::string_view prefix, std::int64_t& number) {
    if (!file_name.starts_with(prefix)) return false;
    file_name.remove_prefix(prefix.size());
    auto parsed = std::from_chars(file_name.data(), file_name.data() + file_name.size(), number);
    if (parsed.ec != std::errc() || number < 0) return false;
    file_name.remove_prefix(static_cast<std::size_t>(parsed.ptr - file_name.data()));
    return true;
  };
  bool whole = take("level_", out.level) && take("_problem_", out.problem_id) &&
               take("_sample_", out.sample_id);
  if (!whole || file_name != "_kernel.py") return std::nullopt;
  return out;
}

}  // namespace kw::task
