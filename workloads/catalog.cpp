#include "workloads/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "workloads/model_file.h"
#include "workloads/models.h"

namespace ptbench {

std::vector<Workload> workload_catalog() {
  return {linear_workload(), mlp_workload(), resnet18_workload(), resnet50_workload()};
}

Workload find_workload(std::string_view name) {
  if (name.ends_with(".json")) return read_model(std::string(name));
  std::vector<std::string> names;
  for (Workload& workload : workload_catalog()) {
    if (workload.name == name) return workload;
    names.push_back(workload.name);
  }
  const std::string guess = did_you_mean(name, names);
  throw usage_error(
      fmt::format("unknown workload '{}'{}{}", printable(name), guess.empty() ? "" : ": ", guess),
      fmt::format("choose one of: {}, or name a model file, which ends in .json",
                  fmt::join(names, ", ")));
}

void require_own_shape(const std::string& workload, const Shape& own, const Shape& given) {
  if (given == own) return;
  throw usage_error(fmt::format("workload '{}' takes samples of {}, and the data's are {}",
                                printable(workload), own.text(), given.text()),
                    "choose other data, or a workload that takes them");
}

}  // namespace ptbench
