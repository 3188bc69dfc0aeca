// The page of distributions: what it shows, and that names stay text.
#include "report/distribution_page.h"

#include <gtest/gtest.h>

namespace kw::report {
namespace {

constexpr const char* kMarkup = "</style><script>alert(1)</script><img src=x>";

DistributionPage made() {
  DistributionPage out;
  out.title = "train.jsonl";
  out.all = 40;
  out.facts = {{"samples", "40"}};
  out.sections = {{"Lengths", {{"answers", {{64, 0}, {128, 0.25}, {256, 1}}}}, {}},
                  {"Problems",
                   {},
                   {{"Operators", "Samples that have it.", {{"add.Tensor", 30}, {"mm", 10}}},
                    {"Tiers", "Difficulty.", {}}}},
                  {"Origins", {}, {{"Licences", "Of the source.", {}}}}};
  out.method = "Shares are of all samples.";
  return out;
}

bool has(const std::string& html, const std::string& text) {
  return html.find(text) != std::string::npos;
}

TEST(DistributionPage, CountsWithTheirShares) {
  const std::string html = to_html(made());
  EXPECT_TRUE(has(html, ">add.Tensor</text>"));
  EXPECT_TRUE(has(html, ">30 (75.0 %)</text>"));
  EXPECT_TRUE(has(html, ">10 (25.0 %)</text>"));
  EXPECT_TRUE(has(html, "y=\"16.0\" width=\"360.0\"")) << "the longest has the whole width";
  EXPECT_TRUE(has(html, "width=\"120.0\""));
  EXPECT_TRUE(has(html, "<td>128</td><td>25.0 %</td>"));
  EXPECT_FALSE(has(html, "Tiers")) << "nothing to show";
  EXPECT_FALSE(has(html, "Origins"));
  EXPECT_TRUE(has(html, "<title>train.jsonl - Kernelwright data set</title>"));
}

TEST(DistributionPage, NamesAreTextAndNothingIsLoaded) {
  DistributionPage hostile = made();
  hostile.title = hostile.facts[0].second = kMarkup;
  hostile.sections[0].lengths[0].name = hostile.sections[1].distributions[0].counts[0].first =
      kMarkup;
  const std::string html = to_html(hostile);
  for (const char* bad : {"<script", "<img", "http://", "https://", "url(", "src=\""})
    EXPECT_FALSE(has(html, bad)) << bad;
  EXPECT_TRUE(has(html, "default-src 'none'"));
  EXPECT_EQ(html.find("</style>"), html.rfind("</style>"));
}

TEST(DistributionPage, LongListsAreCutAndSaidSo) {
  DistributionPage many = made();
  for (int i = 0; i < 100; ++i)
    many.sections[1].distributions[0].counts.emplace_back("op" + std::to_string(i), 1);
  const std::string html = to_html(many);
  EXPECT_TRUE(has(html, ">op27</text>"));
  EXPECT_FALSE(has(html, ">op28</text>"));
  EXPECT_TRUE(has(html, "72 more are left out here"));
}

}  // namespace
}  // namespace kw::report
