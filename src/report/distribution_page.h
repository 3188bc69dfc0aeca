// A page of distributions: what a data set is made of. Plain values; names are text, never markup.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kw::report {

// Counts of one property, bars in this order. Empty ones are left out.
struct Distribution {
  std::string title, description;
  std::vector<std::pair<std::string, std::int64_t>> counts;
};

// What share of all is under each length: a line, by length ascending.
struct LengthCurve {
  std::string name;
  std::vector<std::pair<double, double>> shares;
};

struct DistributionSection {
  std::string title;
  std::vector<LengthCurve> lengths;  // one chart of all; none without curves
  std::vector<Distribution> distributions;
  std::int64_t all = 0;  // what its shares are of; 0: as the page's
};

struct DistributionPage {
  std::string title;
  std::int64_t all = 0;                                    // what shares are of
  std::vector<std::pair<std::string, std::string>> facts;  // label and value
  std::vector<DistributionSection> sections;               // empty ones are left out
  std::string method;                                      // what is counted how, for people
};

// One file without outside resources and without script.
std::string to_html(const DistributionPage& page);

}  // namespace kw::report
