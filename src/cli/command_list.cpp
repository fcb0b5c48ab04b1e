#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "reports/named_files.h"
#include "reports/output_file.h"
#include "reports/table.h"
#include "src/cli/catalogs.h"
#include "src/cli/command_table.h"

namespace ptbench {
namespace {

struct ListOptions {
  std::string catalog;  ///< empty: an overview, or all as data
  bool json = false;
  bool markdown = false;
};

std::string overview() {
  return table_text(catalog_overview(), console_style(stdout).columns) +
         "\nptbench list CATALOG shows one with its details.\n";
}

std::string all_as_markdown(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables)
    text +=
        fmt::format("{}## {}\n\n{}", text.empty() ? "" : "\n", table.name, table_markdown(table));
  return text;
}

ExitCode print_catalogs(const ListOptions& options) {
  if (options.catalog.empty()) {
    write_standard_output(options.json       ? tables_json(all_catalogs())
                          : options.markdown ? all_as_markdown(all_catalogs())
                                             : overview());
    return ExitCode::ok;
  }
  const Table table = catalog_table(options.catalog);
  write_standard_output(options.json       ? table_json(table)
                        : options.markdown ? table_markdown(table)
                                           : table_text(table, console_style(stdout).columns));
  return ExitCode::ok;
}

}  // namespace

Command make_list_command() {
  return with_options<ListOptions>(
      {.name = "list",
       .summary = "show what there is to choose from, one line each",
       .examples = {{"ptbench list", "what there is to choose from"},
                    {"ptbench list workloads",
                     "the models, with their default batch and optimizer"},
                    {"ptbench list devices --json", "what can be measured here, for a script"},
                    {"ptbench list options --markdown", "the options of run, for a document"}}},
      OptionTable<ListOptions>(
          {choice_option({.name = "CATALOG",
                          .group = "Arguments",
                          .help = "one of the catalogs; without it, their names, with --json or "
                                  "--markdown all of them",
                          .choices = catalog_names(),
                          .argument = true},
                         &ListOptions::catalog),
           flag_option({.name = "json", .group = "Format", .help = "as JSON, with raw numbers"},
                       &ListOptions::json),
           flag_option({.name = "markdown", .help = "as Markdown tables", .excludes = {"json"}},
                       &ListOptions::markdown)}),
      print_catalogs);
}

}  // namespace ptbench
