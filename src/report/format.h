// Numbers as people read them, the same on the terminal and on the page. Private to this folder.
#pragma once
#include <cstdint>
#include <string>

#include "report/comparison.h"
#include "report/metrics.h"

namespace kw::report {

std::string percent(double share);                  // "42.5 %"
std::string factor(double speedup);                 // "1.42x", "12.3x", "140x"
std::string share_text(const Estimate& estimate);   // "42.5 % (30.1 to 55.0)"
std::string factor_text(const Estimate& estimate);  // "1.42x (1.30 to 1.55)"
std::string speedup_text(const Speedup& speedup);   // the same of one attempt
std::string seconds_text(double seconds);           // "850 ms", "12 s", "3 min", "2.5 h"
std::string count_text(const Metrics& metrics);     // "24, 2 to 8 a problem; 12.5k tokens; 3 min"
std::string quartiles_text(const Quartiles& quartiles);     // "0.90x, 1.42x, 2.10x"
std::string refinement_text(const Refinement& refinement);  // "12 improved, ... of 40 ..."
std::string p_text(double p);                               // "0.031", "under 0.0001"
// "+12.0 points (+2.1 to +22.0)", "ratio 1.10 (0.98 to 1.24)"
std::string difference_text(const MeasureComparison& row);
std::string pairing_text(const Comparison& comparison);  // "20 problems in both; ..."

}  // namespace kw::report
