#include "workloads/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "workloads/models.h"

namespace ptbench {

std::vector<Workload> workload_catalog() { return {linear_workload(), mlp_workload()}; }

Workload find_workload(std::string_view name) {
  std::vector<std::string> names;
  for (Workload& workload : workload_catalog()) {
    if (workload.name == name) return workload;
    names.push_back(workload.name);
  }
  const std::string guess = did_you_mean(name, names);
  throw usage_error(
      fmt::format("unknown workload '{}'{}{}", printable(name), guess.empty() ? "" : ": ", guess),
      fmt::format("choose one of: {}", fmt::join(names, ", ")));
}

}  // namespace ptbench
