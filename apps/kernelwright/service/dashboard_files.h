// The files of the page at / of kernelwright serve. Private to this folder.
#pragma once

namespace kw::front {

extern const char* const kDashboardPage;    // HTML
extern const char* const kDashboardScript;  // JavaScript
extern const char* const kDashboardStyle;   // CSS, behind report::kPageStyle

}  // namespace kw::front
