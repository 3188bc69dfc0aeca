// Rows of other people's data sets as samples.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "data/sample.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::data {

// The version of the questions below; grows with every change of their text.
inline constexpr std::string_view kConvertTemplate = "convert-1";

struct ImportOptions {
  std::string dataset;                                // the origin's name
  task::Language language = task::Language::kTriton;  // asked for, where a row has no answer
  bool answers = true;                                // false: questions only
  std::vector<std::string> licences;  // rows with another one are refused; empty: any
  // The interface of a module, which must run for it: asked where the language is cpp. From any
  // thread; empty: modules in cpp are refused.
  std::function<Result<task::Signature>(const task::Problem&)> describe = {};
};

enum class RowForm { kKernelBook, kKernelBench, kChat };
// Tells the form from the row's columns: python_code; code; messages, or prompt and completion.
// kInvalidArgument for other rows.
Result<RowForm> form_of(const Json& row);

// number: of the row, from 1. Errors name the column. kPermissionDenied for a licence that is not
// wanted, or none where some are.
//   KernelBook: the module gets KernelBench's form (class Model, flat get_init_inputs), its Triton
//     defines ModelNew; convert.
//   KernelBench: a question without an answer; convert.
//   Chat: messages as they are; chat.
Result<Sample> sample_of_row(const Json& row, std::uint64_t number, const ImportOptions& options);

// A question about a problem: convert for modules (in Python, Triton, CUDA, and C++ with describe),
// definition otherwise. Workloads with inputs in files are left out, as a sample stands alone:
// kUnsupported where there are no others, and for other languages of modules.
Result<Sample> question_about(const task::Problem& problem, const ImportOptions& options);
std::size_t workloads_in_files(const task::Problem& problem);  // number of workloads left out

// The same with a solution's sources as the answer.
Result<Sample> answer_to(const task::Problem& problem, const task::Candidate& solution,
                         ImportOptions options);

}  // namespace kw::data
