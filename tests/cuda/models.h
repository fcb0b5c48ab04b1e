#pragma once

#include <string>

namespace ptbench::testing {

/// A model of convolutions, pools and a sum, with `norm` between them.
inline std::string model_of_images(const std::string& norm) {
  return R"({"schema": "ptbench.model/1", "name": "images", "input": [3, 16, 16],
    "classes": 10, "batch": 4, "samples": 64,
    "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9},
    "layers": [{"name": "conv1", "type": "conv2d", "outputs": 8, "kernel": 3, "padding": 1},
               {"name": "gelu1", "type": "gelu"},
               {"name": "pool1", "type": "max_pool", "kernel": 2, "stride": 2},
               {"name": "conv2", "type": "conv2d", "outputs": 8, "kernel": 3, "padding": 1,
                "bias": false},
               {"name": "norm2", "type": ")" +
         norm + R"("},
               {"name": "add", "type": "add", "inputs": ["norm2", "pool1"]},
               {"name": "relu2", "type": "relu"},
               {"name": "pool2", "type": "global_average_pool"},
               {"name": "flatten", "type": "flatten"},
               {"name": "fc", "type": "linear", "outputs": 10}]})";
}

}  // namespace ptbench::testing
