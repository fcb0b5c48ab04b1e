#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/optimizer.h"
#include "workloads/graph.h"

namespace ptbench {

/// A row of the workload catalog, or what a model file describes.
struct Workload {
  std::string name;
  std::string summary;           ///< one line for `ptbench list`
  Shape input_shape;             ///< of one sample of synthetic data
  bool takes_any_width = false;  ///< takes the flattened width of the data instead of its own shape
  Size classes = 0;
  Size batch = 0;              ///< default micro-batch on a CPU
  Size synthetic_samples = 0;  ///< default length of a synthetic epoch
  OptimizerSpec optimizer;
  std::string model_file;  ///< path of the file that describes it; empty for the catalog's own
  /// The graph for data of this shape. Throws a usage error where the model does not take it.
  std::function<Graph(const Shape& input_shape)> build;
};

/// All workloads, in the order in which they are listed. To add one: a file beside linear.cpp and a
/// row in workload_catalog.cpp.
[[nodiscard]] std::vector<Workload> workload_catalog();

/// The workload of that name; a name that ends in ".json" is the path of a model file
/// (workloads/model_file.h). Throws a usage error with a suggestion for any other name.
[[nodiscard]] Workload find_workload(std::string_view name);

}  // namespace ptbench
