#include "workloads/models.h"

namespace ptbench {

Workload linear_workload() {
  constexpr Size kClasses = 2;
  Workload workload;
  workload.name = "linear";
  workload.summary = "one linear layer, 10 -> 2, Adam: the cost of a step with nothing in it";
  workload.input_shape = Shape{10};
  workload.takes_any_width = true;
  workload.classes = kClasses;
  workload.batch = 32;
  workload.synthetic_samples = 1000;
  workload.optimizer = OptimizerSpec::defaults_of(OptimizerKind::adam);
  workload.build = [](const Shape& input) {
    Graph graph;
    graph.input_shape = Shape{input.elements()};
    graph.classes = kClasses;
    graph.nodes = {{.name = "fc", .layer = LinearLayer{kClasses}, .inputs = {-1}}};
    return graph;
  };
  return workload;
}

}  // namespace ptbench
