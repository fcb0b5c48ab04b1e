#pragma once

#include <span>
#include <string>
#include <vector>

#include "charts/chart.h"
#include "src/judge/comparison.h"
#include "src/measure/record.h"

namespace ptbench {

/// A chart, and the drawing that shows where no script runs and on paper.
struct PageChart {
  Chart chart;
  std::string svg;  ///< a whole SVG file; empty: there is no drawing
};

/// What a page shows. The records outlive it.
struct PageContent {
  std::span<const ResultFile> files;
  const Comparison* comparison = nullptr;  ///< of `files`; null: nothing was compared
  std::span<const std::string> sides;      ///< which of "BASE" and "NEW" each file is; or empty
  std::vector<PageChart> charts;
  std::string library;               ///< the text of Chart.js 3; empty: charts stay drawings
  std::vector<std::string> remarks;  ///< what the page lacks, and how it gets it
};

/// A page for a browser in one file: it asks nothing of any other, and its policy (CSP) has the
/// browser refuse it to. The answer first, then charts, a table of the runs, what was lost,
/// warnings, verification, environment, and the command that reproduces it. That of a comparison
/// has the verdict as its title, and BASE beside NEW in the place of the answer. Without scripts
/// it shows the drawings, and without drawings the tables. Equal content gives an equal page.
[[nodiscard]] std::string page_html(const PageContent& content);

}  // namespace ptbench
