#pragma once

#include <string>
#include <string_view>

#include "workloads/workload_catalog.h"

namespace ptbench {

/// The workload that a model file describes; docs/models.md has the format (schema
/// "ptbench.model/1"). `name` stands for the file in messages. Throws a usage error that names the
/// file, the layer and the remedy, whatever the text holds: not JSON, an unknown, missing or wrong
/// key, a name used twice or not there, a cycle, several last layers, a shape that does not fit.
/// The graph's nodes are in the file's order where that is possible: each next one is the first in
/// the file whose inputs are there.
[[nodiscard]] Workload parse_model(std::string_view text, std::string_view name);

/// The same of a file, which may have 16 MiB and 10000 layers, and no name of the catalog; it
/// becomes the workload's `model_file`.
[[nodiscard]] Workload read_model(const std::string& path);

/// The text of a model file that describes `workload`, a line a layer: parsing it gives an equal
/// workload. What has its default is left out.
[[nodiscard]] std::string model_json(const Workload& workload);

}  // namespace ptbench
