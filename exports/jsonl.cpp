#include <nlohmann/json.hpp>

#include "exports/formats.h"
#include "reports/json.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

Json line_of(const NamedResult& named, const RunRecord& run) {
  const ResultFile& result = named.result;
  Json line = {{"file", named.file}, {"host", result.environment.host.name}};
  if (const auto& cpu = result.environment.cpu.model) line["cpu"] = *cpu;
  if (!result.generator.version.empty()) line["version"] = result.generator.version;
  if (const auto& commit = result.generator.git_commit) line["commit"] = *commit;
  if (!result.created.empty()) line["created"] = result.created;
  line.update(run_json(run));
  return line;
}

}  // namespace

std::string jsonl_export(std::span<const NamedResult> results) {
  constexpr bool kAscii = true;  // a line is one whatever its reader takes for the end of one
  std::string text;
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs)
      text += line_of(named, run).dump(-1, ' ', kAscii, Json::error_handler_t::replace) + "\n";
  return text;
}

}  // namespace ptbench
