#include "workloads/workload_catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "workloads/model_file.h"
#include "workloads/models.h"

namespace ptbench {

namespace {

constexpr const char* kDescribe =
    "describe the model in a JSON file, as models/cnn.json does (docs/models.md), and name that "
    "file";

/// Whether the name is that of a file in which frameworks keep models.
bool is_of_a_framework(std::string_view name) {
  constexpr std::array<std::string_view, 10> kExtensions{
      ".onnx", ".pt", ".pth", ".pt2", ".bin", ".ckpt", ".safetensors", ".h5", ".keras", ".tflite"};
  return std::ranges::any_of(kExtensions, [name](std::string_view extension) {
    return name.size() > extension.size() && name.ends_with(extension);
  });
}

}  // namespace

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
  if (is_of_a_framework(name))
    throw usage_error(
        fmt::format("--workload {}: files of this kind are not read", printable(name)),
        fmt::format("{}; its weights can come by --initial-weights "
                    "FILE.safetensors",
                    kDescribe));
  std::string guess = did_you_mean(name, names);
  std::error_code ignored;
  if (const std::string file = std::string(name) + ".json";
      std::filesystem::is_regular_file(file, ignored))
    guess = fmt::format("did you mean '{}'?", printable(file));
  throw usage_error(
      fmt::format("unknown workload '{}'{}{}", printable(name), guess.empty() ? "" : ": ", guess),
      fmt::format("choose one of: {}; or {}", fmt::join(names, ", "), kDescribe));
}

void require_own_shape(const std::string& workload, const Shape& own, const Shape& given) {
  if (given == own) return;
  throw usage_error(fmt::format("workload '{}' takes samples of {}, and the data's are {}",
                                printable(workload), own.text(), given.text()),
                    "choose other data, or a workload that takes them");
}

}  // namespace ptbench
