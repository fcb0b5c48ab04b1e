#include "src/cli/catalogs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "charts/catalog.h"
#include "exports/catalog.h"
#include "kernels/optimizer.h"
#include "src/base/error.h"
#include "src/base/install_paths.h"
#include "src/cli/help.h"
#include "src/comm/catalog.h"
#include "src/config/run_options.h"
#include "src/device/probe.h"
#include "src/device/topology.h"
#include "strategies/catalog.h"
#include "workloads/catalog.h"

namespace ptbench {
namespace {

FieldValue text_or_nothing(const std::string& text) {
  return text.empty() ? FieldValue() : FieldValue(text);
}

Table workloads() {
  Table table{.name = "workloads",
              .columns = {{"name", "name"},
                          {"input_shape", "input"},
                          {"classes", "classes"},
                          {"batch", "batch"},
                          {"optimizer", "optimizer"},
                          {"summary", "summary"}}};
  for (const Workload& workload : workload_catalog())
    table.rows.push_back(
        {workload.name, workload.input_shape.text(), workload.classes, workload.batch,
         fmt::format("{} lr {:g}", name_of(workload.optimizer.kind), workload.optimizer.lr),
         workload.summary});
  return table;
}

Table strategies() {
  Table table{.name = "strategies",
              .columns = {{"name", "name"}, {"several_ranks", "n > 1"}, {"summary", "summary"}}};
  for (const StrategyRow& strategy : strategy_catalog())
    table.rows.push_back({strategy.name, strategy.several_ranks, strategy.summary});
  return table;
}

Table communicators() {
  Table table{.name = "communicators",
              .columns = {{"name", "name"},
                          {"several_ranks", "n > 1"},
                          {"needs", "needs"},
                          {"summary", "summary"}}};
  for (const CommunicatorRow& row : communicator_catalog())
    table.rows.push_back({row.name, row.several_ranks, row.needs, row.summary});
  return table;
}

Table devices() {
  Table table{.name = "devices",
              .columns = {{"id", "device"},
                          {"memory_bytes", "memory", Unit::bytes},
                          {"cores", "cores"},
                          {"compute_capability", "capability"},
                          {"name", "name"}}};
  const Topology topology = discover_topology();
  table.rows.push_back({"cpu", static_cast<Size>(topology.memory_bytes),
                        static_cast<Size>(topology.cores.size()), FieldValue(),
                        topology.cpu_model});
  for (const CudaDeviceInfo& device : probe_cuda(install_paths().modules).devices)
    table.rows.push_back({device.id, static_cast<Size>(device.memory_bytes), FieldValue(),
                          device.compute_capability, device.name});
  return table;
}

Table optimizers() {
  Table table{.name = "optimizers",
              .columns = {{"name", "name"},
                          {"lr", "lr"},
                          {"momentum", "momentum"},
                          {"weight_decay", "weight decay"},
                          {"state_arenas", "state / parameters"}}};
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw}) {
    const OptimizerSpec spec = OptimizerSpec::defaults_of(kind);
    FieldValue momentum;
    if (kind == OptimizerKind::sgd) momentum = spec.momentum;
    table.rows.push_back({name_of(kind), spec.lr, momentum, spec.weight_decay,
                          static_cast<Size>(spec.state_arenas())});
  }
  return table;
}

Table exports() {
  Table table{.name = "exports",
              .columns = {{"name", "format"}, {"reader", "read by"}, {"summary", "summary"}}};
  for (const Exporter& exporter : exporter_catalog())
    table.rows.push_back(
        {std::string(exporter.name), std::string(exporter.reader), std::string(exporter.summary)});
  return table;
}

Table options() {
  Table table{.name = "options",
              .columns = {{"name", "option"},
                          {"short_name", ""},
                          {"value", "value"},
                          {"default", "default"},
                          {"help", "meaning"}}};
  for (const OptionInfo& option : run_option_table().infos()) {
    if (option.hidden) continue;
    const std::string short_name =
        option.short_name == '\0' ? std::string() : fmt::format("-{}", option.short_name);
    table.rows.push_back({option.spelling(), text_or_nothing(short_name),
                          text_or_nothing(option.value), text_or_nothing(option.fallback),
                          meaning_of(option)});
  }
  return table;
}

Table charts() {
  Table table{.name = "charts",
              .columns = {{"name", "name"}, {"summary", "summary"}, {"needs", "needs"}}};
  for (const ChartRow& chart : chart_catalog())
    table.rows.push_back(
        {std::string(chart.name), std::string(chart.summary), std::string(chart.needs)});
  return table;
}

struct Catalog {
  std::string_view name;
  Table (*table)();
  bool is_long = false;  ///< its names would fill a screen
};

constexpr std::array<Catalog, 8> kCatalogs{{{"workloads", workloads},
                                            {"strategies", strategies},
                                            {"communicators", communicators},
                                            {"devices", devices},
                                            {"optimizers", optimizers},
                                            {"charts", charts},
                                            {"exports", exports},
                                            {"options", options, true}}};

/// "linear, mlp, resnet18, resnet50", or how many there are.
std::string names_in(const Catalog& catalog) {
  const Table table = catalog.table();
  if (catalog.is_long) return fmt::format("{} of ptbench run and sweep", table.rows.size());
  std::vector<std::string> names;
  for (const std::vector<FieldValue>& row : table.rows)
    names.push_back(std::get<std::string>(row.front()));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<std::string> catalog_names() {
  std::vector<std::string> names;
  names.reserve(kCatalogs.size());
  for (const Catalog& catalog : kCatalogs) names.emplace_back(catalog.name);
  return names;
}

Table catalog_table(std::string_view name) {
  const auto* const catalog = std::ranges::find(kCatalogs, name, &Catalog::name);
  ensure(catalog != kCatalogs.end(), "the option table lets only known catalogs through");
  return catalog->table();
}

Table catalog_overview() {
  Table table{.name = "catalogs", .columns = {{"name", "catalog"}, {"entries", "entries"}}};
  for (const Catalog& catalog : kCatalogs)
    table.rows.push_back({std::string(catalog.name), names_in(catalog)});
  return table;
}

std::vector<Table> all_catalogs() {
  std::vector<Table> tables;
  tables.reserve(kCatalogs.size());
  for (const Catalog& catalog : kCatalogs) tables.push_back(catalog.table());
  return tables;
}

}  // namespace ptbench
