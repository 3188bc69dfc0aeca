// kernelwright data stats: text, JSON, and the page.
#include "data/sample.h"
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

class DataStatsTest : public FrontTest {
 protected:
  // Answers of 10, 20, ... bytes, at depths 1 to 12.
  std::string samples() const {
    std::string lines;
    for (std::int64_t i = 1; i <= 12; ++i) {
      data::Sample sample;
      sample.messages = {{"user", "Write it."},
                         {"assistant", std::string(static_cast<std::size_t>(10 * i), 'a')}};
      sample.labels.operators = {"relu", "add.Tensor"};
      sample.labels.depth = i;
      sample.labels.other["family"] = "<b>pooling";
      sample.origin = {{"generator", "writer"}};
      lines += to_line(sample) + "\n";
    }
    return write("data.jsonl", lines);
  }
};

TEST_F(DataStatsTest, ThePage) {
  ASSERT_EQ(kernelwright({"data", "stats", samples(), "--html", path("stats.html")}), 0)
      << console.err_text;
  EXPECT_NE(console.err_text.find("stats.html"), std::string::npos);
  EXPECT_TRUE(console.out_text.starts_with("samples          12, 12 answered"));
  const std::string html = read("stats.html");
  auto at = [&](const std::string& text) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
    return html.find(text);
  };
  at("<title>data.jsonl - Kernelwright data set</title>");
  at(">add.Tensor</text>");
  at(">12 (100.0 %)</text>");
  at(">&lt;b&gt;pooling</text>");
  at(">64 B to 128 B</text>");
  EXPECT_LT(at(">2</text>"), at(">12</text>")) << "depths in the order of numbers";
  // Answers of 10 are under 16 bytes, 10 to 30 under 32, 10 to 60 under 64, all under 128.
  for (const char* row : {"<td>16</td><td>8.3 %</td>", "<td>32</td><td>25.0 %</td>",
                          "<td>64</td><td>50.0 %</td>", "<td>128</td><td>100.0 %</td>"})
    at("<tr><th scope=\"row\">answers</th>" + std::string(row));
  EXPECT_EQ(html.find("Licences"), std::string::npos) << "none is named";
}

TEST_F(DataStatsTest, JsonBesideThePage) {
  ASSERT_EQ(kernelwright({"data", "stats", samples(), "--html", path("stats.html"), "--json"}), 0);
  Json json = parse_json(console.out_text).value();
  EXPECT_EQ(json["families"]["<b>pooling"], 12);
  EXPECT_EQ(json["answer_bytes"]["bins"][0]["from"], 8);
}

TEST_F(DataStatsTest, WhatWasTakenOutToo) {
  const std::string removed =
      write("removed.jsonl", R"({"id":"a","reason":"near","as":"b","similarity":0.92}
{"id":"c","reason":"same","as":"b","similarity":1}
)");
  const std::string report =
      write("report.jsonl", R"({"id":"d","problem":"p<1>","rule":"shingles","overlap":0.71}
)");
  const std::vector<std::string> words = {"data",      "stats",  samples(),
                                          "--removed", removed,  "--decontaminated",
                                          report,      "--html", path("stats.html")};
  ASSERT_EQ(kernelwright(words), 0) << console.err_text;
  EXPECT_NE(console.out_text.find("taken out by dedup 2\nreason\n"), std::string::npos);
  EXPECT_NE(console.out_text.find("0.90 to 0.95"), std::string::npos) << console.out_text;
  EXPECT_NE(console.out_text.find("p<1>"), std::string::npos);
  const std::string html = read("stats.html");
  for (const char* text : {">Taken out as duplicates</h2>", ">1 (50.0 %)</text>",
                           ">p&lt;1&gt;</text>", ">0.70 to 0.75</text>"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  console.out_text.clear();
  auto json = words;
  json.emplace_back("--json");
  ASSERT_EQ(kernelwright(json), 0) << console.err_text;
  const Json out = parse_json(console.out_text).value();
  EXPECT_EQ(out["removed"]["similarities"]["0.90 to 0.95"], 1);
  EXPECT_EQ(out["decontaminated"]["rules"]["shingles"], 1);
}

TEST_F(DataStatsTest, APageThatCannotBeWritten) {
  EXPECT_EQ(kernelwright({"data", "stats", samples(), "--html", path("none/stats.html")}), 2);
  EXPECT_NE(console.err_text.find("stats.html"), std::string::npos) << console.err_text;
}

}  // namespace
}  // namespace kw::front
