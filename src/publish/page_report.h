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
/// without. `comparison`: whose NEW the results are; null: nothing was compared.
[[nodiscard]] std::string page_report(std::span<const ResultFile> results,
                                      std::vector<Chart> charts,
                                      const Comparison* comparison = nullptr);

/// Throws the usage error of a page that cannot be made as the environment asks for it.
void check_page_needs();

/// The page of one result, with every chart that it allows.
[[nodiscard]] std::string to_page(const ResultFile& file);
/// The page of a comparison, with every chart that the results of NEW, `fresh`, allow.
[[nodiscard]] std::string to_page(const Comparison& comparison, std::span<const ResultFile> fresh);

}  // namespace ptbench
