// Line charts and bars as inline SVG, coloured by the page's style sheet: series i has the
// class c0 to c5 and, from the seventh on, dashes. Each chart says in words what it shows. Private
// to this folder.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kw::report {

struct Series {
  std::string name;                               // not escaped
  std::vector<std::pair<double, double>> points;  // x ascending
  std::size_t colour = 0;
  bool thin = false;  // a second line of the same colour, without an entry in the legend
};

struct Chart {
  std::string id;                  // unique in the page
  std::string title, description;  // not escaped
  std::string x_label;
  bool x_is_log = false;    // powers of two
  bool x_is_whole = false;  // counts
  bool y_is_share = true;   // 0 to 1, shown as percent; else from 1 up, a factor
  bool steps = false;       // y changes at each x and stays
  std::vector<Series> series;
};

// <figure> with the chart, its legend and the values as a table.
std::string line_chart(const Chart& chart);

// Counts as bars, in their order, with their shares of `all`. The longest is the width.
std::string count_bars(const std::string& id, const std::string& title,
                       const std::string& description,
                       const std::vector<std::pair<std::string, std::int64_t>>& counts,
                       std::int64_t all);

struct Bar {
  std::string name;
  std::vector<std::int64_t> parts;  // one for each part name
};

// One bar a row, parts side by side as shares of the row's sum; parts have the classes s0, s1, ...
std::string stacked_bars(const std::string& id, const std::string& title,
                         const std::string& description, const std::vector<std::string>& part_names,
                         const std::vector<Bar>& bars);

}  // namespace kw::report
