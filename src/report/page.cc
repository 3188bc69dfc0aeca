// The page's frame.
#include "report/html.h"
#include "report/page_parts.h"
#include "report/page_style.h"

namespace kw::report {
namespace {

std::string title_of(const Report& report) {
  std::string out;
  for (const MeasuredRun& run : report.runs) out += (out.empty() ? "" : ", ") + run.run.name;
  return bounded(out, 120);
}

std::string navigation(const Report& report) {
  std::string out = "<nav aria-label=\"Sections\"><a href=\"#overview\">Overview</a>";
  if (!report.comparisons.empty()) out += "<a href=\"#comparison\">Comparison</a>";
  return out +
         "<a href=\"#curves\">Curves</a><a href=\"#failures\">Failures</a>"
         "<a href=\"#problems\">Problems</a><a href=\"#attempts\">Attempts</a>"
         "<a href=\"#settings\">Settings</a><a href=\"#method\">Method</a></nav>\n";
}

}  // namespace

std::string outcome_text(const Attempt& attempt) {
  return attempt.violation.empty() ? attempt.outcome : attempt.outcome + ": " + attempt.violation;
}

std::string badge(const Attempt& attempt) {
  return fmt::format("<span class=\"badge b{}\">{}</span>", static_cast<int>(attempt.progress),
                     bounded(outcome_text(attempt), 80));
}

std::string attempts_anchor(std::size_t run, std::size_t problem) {
  return fmt::format("r{}p{}", run, problem);
}

std::string html_page(const std::string& title, const std::string& brand,
                      const std::string& navigation, const std::string& sections) {
  // Nothing may be loaded and no script runs, whatever else is on the page.
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
         "content=\"no-referrer\">\n<title>" +
         title + " - " + brand + "</title>\n<style>" + kPageStyle +
         "</style>\n</head>\n<body>\n<header><p class=\"brand\">" + brand + "</p>\n<h1>" + title +
         "</h1>\n" + navigation + "</header>\n<main>\n" + sections + "</main>\n</body>\n</html>\n";
}

std::string to_html(const Report& report) {
  return html_page(title_of(report), "Kernelwright report", navigation(report),
                   overview_section(report) + comparison_section(report) + curves_section(report) +
                       failures_section(report) + problems_section(report) +
                       attempts_section(report) + settings_section(report) +
                       method_section(report));
}

}  // namespace kw::report
