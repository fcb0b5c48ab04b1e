#pragma once

#include "kernels/optimizer.h"
#include "workloads/graph.h"

// Small models, and how they are trained.
namespace ptbench::testing {

inline Graph mlp_graph() {
  return {.input_shape = {20},
          .classes = 4,
          .nodes = {{.name = "fc1", .layer = LinearLayer{33}, .inputs = {-1}},
                    {.name = "relu1", .layer = ReluLayer{}, .inputs = {0}},
                    {.name = "fc2", .layer = LinearLayer{4}, .inputs = {1}}}};
}

/// With batch norm.
inline Graph conv_graph() {
  return {.input_shape = {3, 6, 6},
          .classes = 4,
          .nodes = {{.name = "conv",
                     .layer = Conv2dLayer{.outputs = 20,
                                          .window = Window::square(3, 1, 1),
                                          .bias = false,
                                          .init = ConvInit::kaiming_normal},
                     .inputs = {-1}},
                    {.name = "bn", .layer = BatchNormLayer{}, .inputs = {0}},
                    {.name = "relu", .layer = ReluLayer{}, .inputs = {1}},
                    {.name = "pool", .layer = GlobalPoolLayer{}, .inputs = {2}},
                    {.name = "flatten", .layer = FlattenLayer{}, .inputs = {3}},
                    {.name = "fc", .layer = LinearLayer{4}, .inputs = {4}}}};
}

inline OptimizerSpec sgd() { return {.lr = 0.01, .momentum = 0.9, .weight_decay = 1e-3}; }
inline OptimizerSpec adam() { return {.kind = OptimizerKind::adam, .lr = 1e-3}; }

}  // namespace ptbench::testing
