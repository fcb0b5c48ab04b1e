#include "tests/exports/example.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "reports/read_result.h"

namespace ptbench::testing {

std::string golden(const std::string& name) {
  std::ifstream file(std::string(PTBENCH_SOURCE_DIR "/tests/exports/golden/") + name,
                     std::ios::binary);
  if (!file) throw std::runtime_error("no golden file " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

NamedResult sweep_result() {
  return {.file = "sweep.json", .result = read_result(golden("sweep.json"), "sweep.json")};
}

NamedResult result_of(std::vector<RunRecord> runs) {
  NamedResult named{.file = "results.json"};
  named.result.created = "2025-06-30T12:34:56Z";
  named.result.environment.host.name = "vm-17";
  named.result.runs = std::move(runs);
  return named;
}

RunRecord plain_run(const std::string& id, double median_seconds) {
  RunRecord run;
  run.id = id;
  run.workload.name = "mlp";
  run.strategy.name = "serial";
  if (median_seconds > 0) run.step_seconds.median = median_seconds;
  return run;
}

std::string exported(std::string_view name, const std::vector<NamedResult>& results) {
  return export_results(find_exporter(name), results).text;
}

nlohmann::ordered_json exported_json(std::string_view name,
                                     const std::vector<NamedResult>& results) {
  return nlohmann::ordered_json::parse(exported(name, results));
}

}  // namespace ptbench::testing
