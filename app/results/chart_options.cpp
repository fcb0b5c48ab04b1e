#include "app/results/chart_options.h"

#include <string_view>

#include "charts/chart_catalog.h"

namespace ptbench {
namespace {

using ChartRow = OptionRow<ChartOptions>;

/// "speedup,loss"; an empty part is none of the choices.
void add_charts(ChartOptions& options, const OptionInfo& option, std::string_view text) {
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t comma = text.find(',', at);
    options.charts.push_back(choice_value(option, text.substr(at, comma - at)));
    at = comma == std::string_view::npos ? comma : comma + 1;
  }
}

std::vector<ChartRow> rows() {
  return {text_list_option({.name = "RESULT",
                            .group = "Arguments",
                            .help = "a result of run, sweep or gate, a folder of them, a history "
                                    "of compare (.jsonl), or what comm --json printed",
                            .example = "scaling.json",
                            .hint = ValueHint::file,
                            .argument = true,
                            .required = true},
                           &ChartOptions::files),
          text_list_option({.name = "output",
                            .short_name = 'o',
                            .value = "FILE",
                            .group = "Output",
                            .help = "write the charts: .svg, .png, or .pdf with a page a chart; of "
                                    "several charts, FILE.svg is FILE-speedup.svg, "
                                    "FILE-efficiency.svg, ...; .html is a page with all of them, "
                                    "and with tables; may be given several times",
                            .example = "scaling.svg",
                            .hint = ValueHint::file,
                            .required = true},
                           &ChartOptions::outputs),
          choice_option({.name = "theme",
                         .value = "NAME",
                         .help = "background of the charts",
                         .fallback = "light",
                         .choices = {"light", "dark"}},
                        &ChartOptions::theme),
          ChartRow{{.name = "chart",
                    .value = "NAME,...",
                    .group = "What to draw",
                    .help = "only these charts, separated by commas (see ptbench list charts)",
                    .fallback = "all that the records allow",
                    .example = "speedup,loss",
                    .choices = chart_names(),
                    .repeatable = true},
                   add_charts},
          text_list_option({.name = "runs",
                            .value = "TEXT",
                            .help = "only runs with TEXT in their id, for instance ddp/n2; may be "
                                    "given several times",
                            .example = "ddp/n2"},
                           &ChartOptions::runs)};
}

}  // namespace

OptionTable<ChartOptions> chart_option_table() { return OptionTable<ChartOptions>(rows()); }

}  // namespace ptbench
