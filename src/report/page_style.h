// The style sheet of Kernelwright's pages.
#pragma once

namespace kw::report {

// CSS: light and dark, for a phone and a desktop.
extern const char* const kPageStyle;

}  // namespace kw::report
