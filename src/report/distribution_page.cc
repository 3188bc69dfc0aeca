// A section a group, its charts side by side.
#include "report/distribution_page.h"

#include <algorithm>

#include "report/chart.h"
#include "report/html.h"
#include "report/page_parts.h"

namespace kw::report {
namespace {

bool is_shown(const DistributionSection& section) {
  return !section.lengths.empty() ||
         std::any_of(section.distributions.begin(), section.distributions.end(),
                     [](const Distribution& one) { return !one.counts.empty(); });
}

std::string length_chart(const std::string& id, const std::vector<LengthCurve>& curves) {
  Chart chart;
  chart.id = id;
  chart.title = "Lengths";
  chart.description = "Share of the texts that are shorter than this.";
  chart.x_label = "bytes";
  chart.x_is_log = true;
  for (std::size_t i = 0; i < curves.size(); ++i)
    chart.series.push_back({curves[i].name, curves[i].shares, i, false});
  return line_chart(chart);
}

std::string section_of(const DistributionPage& page, std::size_t place) {
  const DistributionSection& section = page.sections[place];
  std::string out = fmt::format("<section id=\"s{}\"><h2>{}</h2>\n<div class=\"charts\">\n", place,
                                escape(section.title));
  if (!section.lengths.empty()) out += length_chart(fmt::format("s{}l", place), section.lengths);
  for (std::size_t i = 0; i < section.distributions.size(); ++i) {
    const Distribution& one = section.distributions[i];
    if (one.counts.empty()) continue;
    out += count_bars(fmt::format("s{}d{}", place, i), one.title, one.description, one.counts,
                      section.all > 0 ? section.all : page.all);
  }
  return out + "</div></section>\n";
}

std::string facts_section(const DistributionPage& page) {
  std::string out =
      "<section id=\"overview\"><h2>Overview</h2>\n<article class=\"card facts k0\"><dl>";
  for (const auto& [label, value] : page.facts) {
    out += fmt::format("<div><dt>{}</dt><dd><span class=\"big\">{}</span></dd></div>",
                       escape(label), bounded(value, 60));
  }
  return out + "</dl></article></section>\n";
}

}  // namespace

std::string to_html(const DistributionPage& page) {
  std::string navigation = "<nav aria-label=\"Sections\"><a href=\"#overview\">Overview</a>";
  std::string sections = facts_section(page);
  for (std::size_t i = 0; i < page.sections.size(); ++i) {
    if (!is_shown(page.sections[i])) continue;
    navigation += fmt::format("<a href=\"#s{}\">{}</a>", i, escape(page.sections[i].title));
    sections += section_of(page, i);
  }
  sections += "<section id=\"method\"><h2>How it is counted</h2>\n<p>" + escape(page.method) +
              "</p></section>\n";
  return html_page(bounded(page.title, 120), "Kernelwright data set",
                   navigation + "<a href=\"#method\">How it is counted</a></nav>\n", sections);
}

}  // namespace kw::report
