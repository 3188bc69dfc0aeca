#include "gym_environment/read_answer.h"

#include <utility>

#include "prompt/extract.h"
#include "prompt/problem_prompt.h"
#include "task/candidate_source.h"

namespace kw::gym_environment {

using text::Finish;

Reading read_answer(const task::Problem& problem, task::Language language, const std::string& text,
                    Finish finish, const Labels& labels, const std::vector<std::string>& shown) {
  if (finish == Finish::kContext)
    return {std::nullopt, "the prompt left no room for an answer", "no_room"};
  if (finish == Finish::kRefused)
    return {std::nullopt, "whoever serves the model kept the answer back (content_filter)",
            "kept_back"};
  prompt::ExtractOptions options;
  options.entry = prompt::entry_of(problem, language);
  options.finish = finish;
  options.shown = shown;
  prompt::Extraction extraction = prompt::extract_code(text, language, options);
  if (extraction.outcome != prompt::Extracted::kCode)
    return {std::nullopt, std::move(extraction.why_not),
            std::string(prompt::to_string(extraction.outcome))};
  auto candidate = task::candidate_from_files(language, std::move(extraction.files));
  if (!candidate) return {std::nullopt, candidate.error().message(), "bad_files"};
  candidate->name = labels.name;
  candidate->definition = problem.name;
  candidate->author = labels.author;
  candidate->description = labels.description;
  return {std::move(*candidate), "", ""};
}

}  // namespace kw::gym_environment
