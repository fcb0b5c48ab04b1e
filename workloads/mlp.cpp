#include "workloads/models.h"

namespace ptbench {

Workload mlp_workload() {
  constexpr Size kHidden = 1024;
  constexpr Size kClasses = 10;
  Workload workload;
  workload.name = "mlp";
  workload.summary = "784-1024-1024-10 with ReLU, SGD with momentum: matrix products";
  workload.input_shape = Shape{784};
  workload.takes_any_width = true;
  workload.classes = kClasses;
  workload.batch = 128;
  workload.synthetic_samples = 1024;
  workload.optimizer = OptimizerSpec::defaults_of(OptimizerKind::sgd);
  workload.optimizer.lr = 0.01;
  workload.optimizer.momentum = 0.9;
  workload.build = [](const Shape& input) {
    Graph graph;
    graph.input_shape = Shape{input.elements()};
    graph.classes = kClasses;
    graph.nodes = {{.name = "fc1", .layer = LinearLayer{kHidden}, .inputs = {-1}},
                   {.name = "relu1", .layer = ReluLayer{}, .inputs = {0}},
                   {.name = "fc2", .layer = LinearLayer{kHidden}, .inputs = {1}},
                   {.name = "relu2", .layer = ReluLayer{}, .inputs = {2}},
                   {.name = "fc3", .layer = LinearLayer{kClasses}, .inputs = {3}}};
    return graph;
  };
  return workload;
}

}  // namespace ptbench
