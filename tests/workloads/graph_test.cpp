#include "workloads/graph.h"

#include <catch2/catch.hpp>

#include "src/base/error.h"
#include "workloads/catalog.h"

namespace ptbench {
namespace {

using Catch::Contains;

constexpr Size kHuge = Size{1} << 40U;

Graph graph_of(const char* name) {
  const Workload workload = find_workload(name);
  return workload.build(workload.input_shape);
}

/// Layers one after another, named a, b, c, …; the last one's row has `classes` values.
Graph chain(const Shape& input, const std::vector<Layer>& layers, Size classes) {
  Graph graph{.input_shape = input, .classes = classes};
  for (std::size_t i = 0; i < layers.size(); ++i)
    graph.nodes.push_back({.name = std::string(1, static_cast<char>('a' + i)),
                           .layer = layers[i],
                           .inputs = {static_cast<Size>(i) - 1}});
  return graph;
}

Conv2dLayer conv(Size outputs, const Window& moves = {}) {
  return {.outputs = outputs, .window = moves};
}

PoolLayer pool(const Window& moves) { return {.kind = PoolKind::max, .window = moves}; }

/// What the graph's shapes are complained of for.
std::string complaint(const Graph& graph) {
  try {
    (void)graph.output_shapes();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_FALSE(error.remedy().empty());
    return error.what();
  }
  return "no complaint";
}

TEST_CASE("parameters and operations are those of the models", "[workloads]") {
  CHECK(graph_of("linear").parameter_count() == 10 * 2 + 2);
  CHECK(graph_of("mlp").parameter_count() ==
        784 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10);
  // Forward and weight gradients of all layers, data gradients of all but the first.
  CHECK(graph_of("linear").flops_per_sample() == 2.0 * 2 * 10 * 2);
  CHECK(graph_of("mlp").flops_per_sample() ==
        2.0 * 2 * 784 * 1024 + 2.0 * 3 * (1024 * 1024 + 1024 * 10));
}

TEST_CASE("a width from the data goes through the whole model", "[workloads]") {
  const Graph graph = find_workload("mlp").build(Shape{1, 8, 8});
  CHECK(graph.input_shape == Shape{64});
  CHECK(graph.parameter_count() == 64 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10);
}

TEST_CASE("every layer makes the shape that PyTorch's makes", "[workloads]") {
  const Window odd{.kernel_height = 3,
                   .kernel_width = 5,
                   .stride_height = 2,
                   .stride_width = 3,
                   .padding_height = 0,
                   .padding_width = 1};
  const Graph graph =
      chain({3, 20, 31},
            {conv(8, odd), BatchNormLayer{}, ReluLayer{}, pool(Window::square(2, 2, 1)),
             PoolLayer{.kind = PoolKind::average, .window = Window::square(2, 1, 0)}, GeluLayer{},
             GlobalPoolLayer{}, FlattenLayer{}, BatchNormLayer{}, LinearLayer{4}},
            4);
  CHECK(graph.output_shapes() == std::vector<Shape>{{8, 9, 10},
                                                    {8, 9, 10},
                                                    {8, 9, 10},
                                                    {8, 5, 6},
                                                    {8, 4, 5},
                                                    {8, 4, 5},
                                                    {8, 1, 1},
                                                    {8},
                                                    {8},
                                                    {4}});
  CHECK(graph.parameter_count() == 8 * 3 * 3 * 5 + 8 + 2 * 8 + 2 * 8 + 8 * 4 + 4);
  CHECK(graph.has_batch_norm());
  CHECK_FALSE(graph_of("mlp").has_batch_norm());
  const double values = 3 * 8 * 9 * 10 + 8 * 5 * 6 + 2 * 8 * 4 * 5 + 3 * 8 + 4;
  CHECK(graph.activation_bytes_per_sample(ElementType::f32) == 4 * values);
  CHECK(graph.activation_bytes_per_sample(ElementType::bf16) == 2 * values);
}

TEST_CASE("layers before which nothing is trained compute no input gradient", "[workloads]") {
  const double rows = 2.0 * 6 * 4;
  CHECK(chain({6}, {ReluLayer{}, LinearLayer{4}}, 4).flops_per_sample() == 2 * rows);
  CHECK(chain({6}, {BatchNormLayer{}, LinearLayer{4}}, 4).flops_per_sample() == 3 * rows);
  const Graph images = chain(
      {1, 6, 6},
      {pool(Window::square(2, 2, 0)), conv(5, Window::square(3, 1, 1)), conv(7), FlattenLayer{}},
      63);
  CHECK(images.flops_per_sample() == 2 * 2.0 * 5 * 9 * 9 + 3 * 2.0 * 7 * 9 * 5);
}

TEST_CASE("a graph that does not end in its classes is refused", "[workloads]") {
  Graph graph = graph_of("linear");
  graph.classes = 3;
  CHECK_THAT(complaint(graph), Contains("'fc' is the last one and gives a row of 2") &&
                                   Contains("the model has 3 classes"));
  CHECK_THAT(complaint(chain({3, 4, 4}, {GlobalPoolLayer{}}, 3)), Contains("an image of 3x1x1"));
  CHECK_THAT(complaint(chain({3}, {}, 3)), Contains("no layers"));
}

TEST_CASE("a layer whose input does not fit is named", "[workloads]") {
  const auto [layer, input, words] = GENERATE(table<Layer, Shape, const char*>({
      {LinearLayer{10}, {3, 4, 4}, "'b' is linear and needs a row, and gets an image of 3x4x4"},
      {conv(10), {5}, "'b' needs an image, and gets a row of 5"},
      {pool(Window::square(1, 1, 0)), {5}, "'b' needs an image, and gets a row of 5"},
      {GlobalPoolLayer{}, {5}, "'b' needs an image, and gets a row of 5"},
      {FlattenLayer{}, {5}, "'b' needs an image, and gets a row of 5"},
      {LinearLayer{0}, {5}, "'b' has 0 outputs"},
      {LinearLayer{-7}, {5}, "'b' has -7 outputs"},
      {conv(0), {3, 4, 4}, "'b' has 0 outputs"},
      {conv(1, Window::square(0, 1, 0)), {3, 4, 4}, "'b' has a kernel of 0x0"},
      {conv(1, Window::square(1, 0, 0)), {3, 4, 4}, "a stride of 0x0"},
      {conv(1, Window::square(1, 1, -1)), {3, 4, 4}, "a padding of -1x-1"},
      {conv(1, Window::square(5, 1, 0)),
       {3, 4, 4},
       "kernel of 5x5, and its input with padding is 4x4"},
      {conv(1, Window::square(7, 1, 1)),
       {3, 4, 4},
       "kernel of 7x7, and its input with padding is 6x6"},
      {pool(Window::square(5, 5, 0)),
       {3, 4, 4},
       "kernel of 5x5, and its input with padding is 4x4"},
      {pool(Window::square(3, 1, 2)), {3, 4, 4}, "'b' pools over 3x3 with a padding of 2x2"},
      {pool(Window::square(0, 1, 0)), {3, 4, 4}, "'b' has a kernel of 0x0"},
  }));
  CHECK_THAT(complaint(chain(input, {ReluLayer{}, layer}, 10)), Contains(words));
}

TEST_CASE("only tensors of one shape are added", "[workloads]") {
  Graph graph = chain({6}, {LinearLayer{4}, LinearLayer{3}, AddLayer{}}, 3);
  graph.nodes[2].inputs = {1, 0};
  CHECK_THAT(complaint(graph), Contains("'c' adds a row of 4 to a row of 3"));
  graph.nodes[2].inputs = {1, 1};
  CHECK(graph.output_shapes().back() == Shape{3});
  graph.nodes[2].inputs = {1};
  CHECK_THROWS_AS(graph.output_shapes(), Defect);
  graph.nodes[2].inputs = {1, 2};
  CHECK_THROWS_AS(graph.output_shapes(), Defect);
}

TEST_CASE("an input that is neither row nor image is refused", "[workloads]") {
  const Shape shape = GENERATE(Shape{}, Shape{0}, Shape{-3}, Shape{4, 4}, Shape{1, 0, 4},
                               Shape{1, 1, 4, 4}, Shape{-1, -1, 4});
  CHECK_THAT(complaint(chain(shape, {ReluLayer{}}, 1)), Contains("the model's input"));
}

TEST_CASE("sizes beyond 2^40 are refused, not multiplied", "[workloads]") {
  const Shape pixel{1, 1, 1};
  CHECK_THAT(complaint(chain({kHuge + 1}, {ReluLayer{}}, kHuge + 1)), Contains("more than 2^40"));
  CHECK_THAT(complaint(chain({kHuge, kHuge, kHuge}, {FlattenLayer{}}, 1)),
             Contains("the model's input") && Contains("more than 2^40"));
  CHECK_THAT(complaint(chain({2}, {LinearLayer{kHuge / 2}}, 1)),
             Contains("'a' brings the model to more than 2^40 parameters"));
  CHECK_THAT(complaint(chain({kHuge}, {LinearLayer{kHuge}}, 1)),
             Contains("more than 2^40 parameters"));
  CHECK_THAT(complaint(chain(pixel, {conv(kHuge + 1)}, 1)), Contains("'a' has 1099511627777"));
  CHECK_THAT(complaint(chain(pixel, {conv(1, Window::square(kHuge, 1, kHuge))}, 1)),
             Contains("'a' gives an image of") && Contains("more than 2^40 values"));
  CHECK_THAT(complaint(chain(pixel, {conv(1, Window::square(kHuge + 1, 1, kHuge))}, 1)),
             Contains("'a' has a kernel of"));
  CHECK_THAT(complaint(chain(pixel, {conv(kHuge / 4, Window::square(1, 1, 1))}, 1)),
             Contains("more than 2^40 values"));
  // Two halves, each of them possible.
  const Size half = Size{1} << 19U;
  CHECK_THAT(complaint(chain({half}, {LinearLayer{2 * half - 1}, LinearLayer{half}}, half)),
             Contains("'b' brings the model to more than 2^40 parameters"));
  CHECK(chain({half}, {LinearLayer{2 * half - 1}}, 2 * half - 1).parameter_count() ==
        (half + 1) * (2 * half - 1));
}

TEST_CASE("a model that has nothing to train is refused", "[workloads]") {
  CHECK_THAT(complaint(chain({3}, {ReluLayer{}}, 3)), Contains("no parameters"));
}

TEST_CASE("pools look at no more than 2^24 values at once", "[workloads]") {
  const Shape image{1, 5000, 5000};
  CHECK_THAT(complaint(chain(image, {GlobalPoolLayer{}, FlattenLayer{}, LinearLayer{1}}, 1)),
             Contains("'a' pools over 5000x5000 values"));
  CHECK_THAT(
      complaint(chain(
          image, {PoolLayer{.kind = PoolKind::average, .window = Window::square(5000, 1, 0)}}, 1)),
      Contains("'a' pools over 5000x5000 values"));
}

TEST_CASE("unknown workloads are refused with a suggestion", "[workloads]") {
  CHECK_THROWS_WITH(find_workload("mpl"), Contains("did you mean 'mlp'?"));
  CHECK_THROWS_WITH(find_workload("resnet"), Contains("unknown workload 'resnet'"));
  for (const char* name : {"vgg16", "model.onnx", "net.pt", "weights.safetensors"}) {
    CAPTURE(name);
    try {
      (void)find_workload(name);
      FAIL("it is known");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK_THAT(error.remedy(), Contains("docs/models.md") && Contains("models/cnn.json"));
    }
  }
}

}  // namespace
}  // namespace ptbench
