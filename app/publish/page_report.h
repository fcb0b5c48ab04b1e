#pragma once

#include <span>
#include <string>
#include <vector>

#include "charts/chart.h"
#include "src/judge/comparison.h"
#include "src/measure/record.h"

namespace ptbench {

/// The page of these results and charts (see page/page.h), the charts drawn by gnuplot too, and
/// with Chart.js as this machine has it. Where either is not there the page says so and does
/// without.
[[nodiscard]] std::string page_report(std::span<const ResultFile> results,
                                      std::vector<Chart> charts);

/// Throws the usage error of a page that cannot be made as the environment asks for it.
void check_page_needs();

/// The page of one result, with every chart that it allows.
[[nodiscard]] std::string to_page(const ResultFile& file);

/// What was compared. All of it outlives what is made of it.
struct ComparedResults {
  const Comparison& comparison;
  std::span<const ResultFile> base;  ///< empty: not to be shown, as of a long history
  std::span<const ResultFile> fresh;
};
/// The page of a comparison: its verdict, and every chart that the results of both sides allow.
[[nodiscard]] std::string to_page(const ComparedResults& compared);

}  // namespace ptbench
