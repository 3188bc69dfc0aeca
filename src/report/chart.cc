// A view box of a phone's width, so that text keeps its size there and charts stand side by side on
// wider screens.
#include "report/chart.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "base/text.h"
#include "report/format.h"
#include "report/html.h"

namespace kw::report {
namespace {

constexpr double kWidth = 360, kHeight = 240;
constexpr double kLeft = 46, kRight = 12, kTop = 10, kBottom = 40;
constexpr std::size_t kColours = 6;
constexpr std::size_t kMaxPoints = 400;  // of a line; more are thinned out
constexpr std::size_t kMaxRows = 40;     // of its table

// From a value to its place, with ticks.
struct Axis {
  double low = 0, high = 1;
  bool is_log = false;
  double begin = 0, end = 1;  // in the picture

  double at(double value) const {
    double share =
        is_log ? std::log2(value / low) / std::log2(high / low) : (value - low) / (high - low);
    return begin + std::clamp(share, 0.0, 1.0) * (end - begin);
  }
};

// 1, 2 or 5 times a power of ten, so that about `count` fit.
double nice_step(double range, int count) {
  double raw = range / count;
  double power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::vector<double> ticks(const Axis& axis, bool whole) {
  std::vector<double> out;
  if (axis.is_log) {
    double factor = std::log2(axis.high / axis.low) > 8 ? 4 : 2;
    double tick = axis.low;
    while (tick <= axis.high * 1.001) {
      out.push_back(tick);
      tick *= factor;
    }
    return out;
  }
  double step = nice_step(axis.high - axis.low, 5);
  if (whole) step = std::max(1.0, step);
  double tick = std::ceil(axis.low / step) * step;
  while (tick <= axis.high + step * 1e-6) {
    out.push_back(tick);
    tick += step;
  }
  return out;
}

std::string number(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string y_text(const Chart& chart, double value) {
  return chart.y_is_share ? fmt::format("{:.0f}%", 100 * value) : fmt::format("{:.3g}x", value);
}

struct Frame {
  Axis x, y;
};

Frame frame_of(const Chart& chart) {
  double x_low = 1e300, x_high = -1e300, y_low = 1, y_high = 1;
  for (const Series& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      x_low = std::min(x_low, x);
      x_high = std::max(x_high, x);
      y_low = std::min(y_low, y);
      y_high = std::max(y_high, y);
    }
  }
  Frame out;
  out.x = {x_low, x_high, chart.x_is_log, kLeft, kWidth - kRight};
  if (x_low > x_high) out.x.low = 0, out.x.high = 1;
  if (!chart.x_is_log && !chart.x_is_whole) out.x.low = std::min(0.0, out.x.low);
  if (out.x.high <= out.x.low) out.x.high = out.x.low + 1;
  out.y = {0, 1, false, kHeight - kBottom, kTop};
  if (!chart.y_is_share) {
    double step = nice_step(std::max(y_high - y_low, 0.1), 4);
    out.y.low = std::floor(y_low / step + 1e-9) * step;
    out.y.high = std::max(std::ceil(y_high / step - 1e-9) * step, out.y.low + step);
  }
  return out;
}

std::string grid(const Chart& chart, const Frame& frame) {
  std::string out;
  for (double tick : ticks(frame.y, false)) {
    double y = frame.y.at(tick);
    out += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, kWidth - kRight, y, y, kLeft - 6, y + 4, y_text(chart, tick));
  }
  for (double tick : ticks(frame.x, chart.x_is_whole)) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       frame.x.at(tick), kHeight - kBottom + 16, number(tick));
  }
  out += fmt::format(
      "<line class=\"axis\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
      "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
      kLeft, kWidth - kRight, kHeight - kBottom, kHeight - kBottom, (kLeft + kWidth - kRight) / 2,
      kHeight - 6, escape(chart.x_label));
  return out;
}

std::string classes(const Series& series) {
  return fmt::format("line c{}{}{}", series.colour % kColours,
                     series.colour >= kColours ? " dashed" : "", series.thin ? " thin" : "");
}

std::string path(const Chart& chart, const Frame& frame, const Series& series) {
  if (series.points.empty()) return "";
  std::string d;
  std::size_t stride = (series.points.size() + kMaxPoints - 1) / kMaxPoints;
  double last_y = 0;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    if (i % stride != 0 && i + 1 != series.points.size()) continue;
    double x = frame.x.at(series.points[i].first), y = frame.y.at(series.points[i].second);
    if (!d.empty() && chart.steps) d += fmt::format("L{:.1f} {:.1f}", x, last_y);
    d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x, y);
    last_y = y;
  }
  std::string out = fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes(series), d);
  if (series.points.size() == 1 || (!chart.steps && series.points.size() <= 12 && !series.thin)) {
    for (const auto& [x, y] : series.points) {
      out += fmt::format("<circle class=\"dot c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>",
                         series.colour % kColours, frame.x.at(x), frame.y.at(y));
    }
    out += "\n";
  }
  return out;
}

std::string legend(const Chart& chart) {
  std::string out = "<ul class=\"legend\">";
  for (const Series& series : chart.series) {
    if (series.thin) continue;
    out += fmt::format(
        "<li><svg width=\"22\" height=\"8\" aria-hidden=\"true\"><path class=\"{}\" "
        "d=\"M0 4L22 4\"/></svg>{}</li>",
        classes(series), escape(series.name));
  }
  return out + "</ul>\n";
}

std::string values(const Chart& chart) {
  std::string out =
      "<details><summary>Values</summary><div class=\"scroll\"><table><thead><tr>"
      "<th scope=\"col\">Line</th><th scope=\"col\">" +
      escape(chart.x_label) + "</th><th scope=\"col\">Value</th></tr></thead><tbody>";
  for (const Series& series : chart.series) {
    std::size_t stride = (series.points.size() + kMaxRows - 1) / kMaxRows;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      if (i % stride != 0 && i + 1 != series.points.size()) continue;
      const auto& [x, y] = series.points[i];
      out += fmt::format("<tr><th scope=\"row\">{}</th><td>{:.4g}</td><td>{}</td></tr>",
                         escape(series.name), x,
                         chart.y_is_share ? percent(y) : fmt::format("{:.3g}x", y));
    }
  }
  return out + "</tbody></table></div></details>\n";
}

std::string open_figure(const std::string& title, const std::string& description) {
  return fmt::format("<figure><figcaption>{}</figcaption>\n<p class=\"note\">{}</p>\n",
                     escape(title), escape(description));
}

std::string open_svg(const std::string& id, const std::string& title,
                     const std::string& description, double height) {
  return fmt::format(
      "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 {:.0f} {:.0f}\" aria-labelledby=\"{}-t "
      "{}-d\"><title id=\"{}-t\">{}</title><desc id=\"{}-d\">{}</desc>\n",
      kWidth, height, id, id, id, escape(title), id, escape(description));
}

}  // namespace

std::string line_chart(const Chart& chart) {
  Frame frame = frame_of(chart);
  std::string out = open_figure(chart.title, chart.description) +
                    open_svg(chart.id, chart.title, chart.description, kHeight) +
                    grid(chart, frame);
  for (const Series& series : chart.series) out += path(chart, frame, series);
  return out + "</svg>\n" + legend(chart) + values(chart) + "</figure>\n";
}

std::string count_bars(const std::string& id, const std::string& title,
                       const std::string& description,
                       const std::vector<std::pair<std::string, std::int64_t>>& counts,
                       std::int64_t all) {
  constexpr double kRow = 30;
  constexpr std::size_t kMaxBars = 30, kMaxName = 36;
  const std::size_t shown = std::min(counts.size(), kMaxBars);
  std::int64_t most = 1;
  for (const auto& [name, count] : counts) most = std::max(most, count);
  std::string out = open_figure(title, description) +
                    open_svg(id, title, description, kRow * static_cast<double>(shown));
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, count] = counts[i];
    const double y = kRow * static_cast<double>(i);
    out += fmt::format(
        "<text class=\"label\" x=\"0\" y=\"{0:.1f}\">{1}</text>"
        "<text x=\"{2:.0f}\" y=\"{0:.1f}\" text-anchor=\"end\">{3} ({4})</text>"
        "<rect class=\"c0\" x=\"0\" y=\"{5:.1f}\" width=\"{6:.1f}\" height=\"8\"/>\n",
        y + 12, escape(printable(name, kMaxName)), kWidth, count,
        percent(all == 0 ? 0 : static_cast<double>(count) / static_cast<double>(all)), y + 16,
        kWidth * static_cast<double>(count) / static_cast<double>(most));
  }
  out += "</svg>\n";
  if (counts.size() > shown)
    out += fmt::format("<p class=\"note\">{} more are left out here; they are in --json.</p>\n",
                       counts.size() - shown);
  return out + "</figure>\n";
}

std::string stacked_bars(const std::string& id, const std::string& title,
                         const std::string& description, const std::vector<std::string>& part_names,
                         const std::vector<Bar>& bars) {
  constexpr double kRow = 40;
  std::string out = open_figure(title, description);
  out += open_svg(id, title, description, kRow * static_cast<double>(bars.size()));
  double y = 0;
  for (const Bar& bar : bars) {
    auto sum =
        static_cast<double>(std::accumulate(bar.parts.begin(), bar.parts.end(), std::int64_t{0}));
    out += fmt::format("<text class=\"label\" x=\"0\" y=\"{:.1f}\">{}</text>", y + 12,
                       bounded(bar.name, 48));
    double x = 0;
    for (std::size_t i = 0; i < bar.parts.size() && sum > 0; ++i) {
      double width = kWidth * static_cast<double>(bar.parts[i]) / sum;
      if (width > 0) {
        out += fmt::format(
            "<rect class=\"s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"16\"><title>{}: {}</title></rect>",
            i, x, y + 18, width, escape(part_names[i]), bar.parts[i]);
      }
      x += width;
    }
    y += kRow;
    out += "\n";
  }
  out += "</svg>\n<ul class=\"legend\">";
  for (std::size_t i = 0; i < part_names.size(); ++i)
    out += fmt::format("<li><span class=\"key s{}\"></span>{}</li>", i, escape(part_names[i]));
  return out + "</ul>\n</figure>\n";
}

}  // namespace kw::report
