#include <fmt/format.h>

#include <array>
#include <utility>

#include "workloads/models.h"

namespace ptbench {
namespace {

/// What is computed beside a block's shortcut.
enum class BlockKind : std::uint8_t {
  basic,       ///< two 3×3 convolutions
  bottleneck,  ///< 1×1, 3×3, 1×1 with four times the channels
};

struct ResNet {
  BlockKind block = BlockKind::basic;
  std::array<Size, 4> blocks{};  ///< in layer1 to layer4
  bool image_net_stem = false;   ///< 7×7 with stride 2 and a max-pool, instead of 3×3
  Shape input;
  Size classes = 0;
};

/// Nodes in the order in which they are computed; those with parameters are in the order of
/// torchvision's state_dict. `input` is the index of a node.
class ResNetBuilder {
 public:
  explicit ResNetBuilder(const ResNet& net) : net_(net) {
    graph_.input_shape = net.input;
    graph_.classes = net.classes;
  }

  Graph build() {
    stem();
    constexpr std::array<Size, 4> kWidths{64, 128, 256, 512};
    for (std::size_t stage = 0; stage < kWidths.size(); ++stage)
      for (Size block = 0; block < net_.blocks[stage]; ++block)
        add_block(fmt::format("layer{}.{}", stage + 1, block), kWidths[stage],
                  stage > 0 && block == 0 ? 2 : 1);
    add("avgpool", GlobalPoolLayer{PoolKind::average}, last());
    add("flatten", FlattenLayer{}, last());
    add("fc", LinearLayer{net_.classes}, last());
    return std::move(graph_);
  }

 private:
  [[nodiscard]] Size last() const { return static_cast<Size>(graph_.nodes.size()) - 1; }

  Size add(std::string name, Layer layer, Size input) {
    graph_.nodes.push_back({.name = std::move(name), .layer = layer, .inputs = {input}});
    return last();
  }

  Size add_conv(std::string name, Size outputs, Size kernel, Size stride, Size input) {
    return add(std::move(name),
               Conv2dLayer{.outputs = outputs,
                           .window = Window::square(kernel, stride, kernel / 2),
                           .bias = false,
                           .init = ConvInit::kaiming_normal},
               input);
  }

  void stem() {
    constexpr Size kChannels = 64;
    constexpr Size kData = -1;
    if (net_.image_net_stem)
      add_conv("conv1", kChannels, 7, 2, kData);
    else
      add_conv("conv1", kChannels, 3, 1, kData);
    add("bn1", BatchNormLayer{}, last());
    add("relu", ReluLayer{}, last());
    if (net_.image_net_stem)
      add("maxpool", PoolLayer{.kind = PoolKind::max, .window = Window::square(3, 2, 1)}, last());
    channels_ = kChannels;
  }

  /// Convolution `index` of a block on the last node, with its batch norm.
  Size add_normalised(const std::string& block, int index, Size outputs, Size kernel, Size stride) {
    add_conv(fmt::format("{}.conv{}", block, index), outputs, kernel, stride, last());
    return add(fmt::format("{}.bn{}", block, index), BatchNormLayer{}, last());
  }

  void add_block(const std::string& name, Size width, Size stride) {
    const Size input = last();
    const bool basic = net_.block == BlockKind::basic;
    const Size outputs = basic ? width : 4 * width;
    if (basic) {
      add_normalised(name, 1, width, 3, stride);
      add(name + ".relu1", ReluLayer{}, last());
      add_normalised(name, 2, outputs, 3, 1);
    } else {
      add_normalised(name, 1, width, 1, 1);
      add(name + ".relu1", ReluLayer{}, last());
      add_normalised(name, 2, width, 3, stride);
      add(name + ".relu2", ReluLayer{}, last());
      add_normalised(name, 3, outputs, 1, 1);
    }
    const Size residual = last();
    const Size shortcut = add_shortcut(name, outputs, stride, input);
    add(name + ".add", AddLayer{}, residual);
    graph_.nodes.back().inputs.push_back(shortcut);
    add(name + (basic ? ".relu2" : ".relu3"), ReluLayer{}, last());
    channels_ = outputs;
  }

  /// The block's input, as a convolution where its shape is not the output's.
  Size add_shortcut(const std::string& block, Size outputs, Size stride, Size input) {
    if (stride == 1 && channels_ == outputs) return input;
    add_conv(block + ".downsample.0", outputs, 1, stride, input);
    return add(block + ".downsample.1", BatchNormLayer{}, last());
  }

  ResNet net_;
  Graph graph_;
  Size channels_ = 0;  ///< of the last node
};

Workload workload_of(std::string name, std::string summary, const ResNet& net) {
  Workload workload;
  workload.name = std::move(name);
  workload.summary = std::move(summary);
  workload.input_shape = net.input;
  workload.classes = net.classes;
  workload.optimizer = OptimizerSpec::defaults_of(OptimizerKind::sgd);
  workload.optimizer.lr = 0.01;
  workload.optimizer.momentum = 0.9;
  workload.optimizer.weight_decay = 5e-4;
  workload.build = [net, own = workload.name](const Shape& input) {
    require_own_shape(own, net.input, input);
    return ResNetBuilder(net).build();
  };
  return workload;
}

}  // namespace

Workload resnet18_workload() {
  Workload workload = workload_of(
      "resnet18", "ResNet-18 for 32x32 images, SGD with momentum: convolutions",
      {.block = BlockKind::basic, .blocks = {2, 2, 2, 2}, .input = {3, 32, 32}, .classes = 10});
  workload.batch = 64;
  workload.synthetic_samples = 1024;
  return workload;
}

Workload resnet50_workload() {
  Workload workload = workload_of(
      "resnet50", "ResNet-50 v1.5 for 224x224 images, as torchvision's, SGD with momentum",
      {.block = BlockKind::bottleneck,
       .blocks = {3, 4, 6, 3},
       .image_net_stem = true,
       .input = {3, 224, 224},
       .classes = 1000});
  workload.batch = 8;
  workload.synthetic_samples = 64;
  return workload;
}

}  // namespace ptbench
