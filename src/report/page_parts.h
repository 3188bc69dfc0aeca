// The frame of a page, and the sections of a report's, each a <section> with its heading. Private
// to this folder.
#pragma once
#include <string>

#include "report/report.h"

namespace kw::report {

std::string overview_section(const Report& report);    // the main numbers, and all side by side
std::string comparison_section(const Report& report);  // empty with one run
std::string curves_section(const Report& report);
std::string failures_section(const Report& report);
std::string problems_section(const Report& report);  // a table, with links to the attempts
std::string attempts_section(const Report& report);  // the trees, with code and diagnostics
std::string settings_section(const Report& report);
std::string method_section(const Report& report);  // how the numbers are made

std::string attempts_anchor(std::size_t run, std::size_t problem);  // "r0p12"
// "passed", "compile_error", with the class of a violation. Not escaped.
std::string outcome_text(const Attempt& attempt);
std::string badge(const Attempt& attempt);  // the outcome in its stage's colour

// Problems whose rows and trees the page shows; the others are only counted.
inline constexpr std::size_t kMaxProblems = 2000;

// A whole page. All four are markup.
std::string html_page(const std::string& title, const std::string& brand,
                      const std::string& navigation, const std::string& sections);

}  // namespace kw::report
