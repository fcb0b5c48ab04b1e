// cuDNN's graph API: convolutions and their gradients against plain loops, what heuristics offer,
// and what is refused.
#include <cmath>
#include <cstring>

#include "tests/cuda_emulator/cases/case.h"
#include "tests/cuda_emulator/cases/cudnn_graph.h"
#include "tests/cuda_emulator/cases/numbers.h"

namespace ptbench::emulator::cases {
namespace {

Kind kind_of(cudnnDataType_t type) {
  if (type == CUDNN_DATA_HALF) return Kind::f16;
  return type == CUDNN_DATA_BFLOAT16 ? Kind::bf16 : Kind::f32;
}

/// Adds to the one of x, w and y, all with channels last, that is the direction's result.
void add_convolution(const Problem& problem, char result, std::vector<float>& x,
                     std::vector<float>& w, std::vector<float>& y) {
  const auto at = [](const Sizes& sizes, std::int64_t first, std::int64_t row, std::int64_t column,
                     std::int64_t last) {
    return static_cast<std::size_t>(((first * sizes[2] + row) * sizes[3] + column) * sizes[1] +
                                    last);
  };
  for (std::int64_t image = 0; image < problem.images; ++image)
    for (std::int64_t p = 0; p < problem.responses(0); ++p)
      for (std::int64_t q = 0; q < problem.responses(1); ++q)
        for (std::int64_t r = 0; r < problem.window[0]; ++r)
          for (std::int64_t s = 0; s < problem.window[1]; ++s) {
            const std::int64_t row = p * problem.stride[0] + r - problem.padding[0];
            const std::int64_t column = q * problem.stride[1] + s - problem.padding[1];
            if (row < 0 || row >= problem.rows || column < 0 || column >= problem.columns) continue;
            for (std::int64_t filter = 0; filter < problem.filters; ++filter)
              for (std::int64_t channel = 0; channel < problem.channels; ++channel) {
                float& of_x = x[at(problem.x(), image, row, column, channel)];
                float& of_w = w[at(problem.w(), filter, r, s, channel)];
                float& of_y = y[at(problem.y(), image, p, q, filter)];
                if (result == 'x') of_x += of_w * of_y;
                if (result == 'w') of_w += of_x * of_y;
                if (result == 'y') of_y += of_x * of_w;
              }
          }
}

constexpr std::array kProblems{
    Problem{2, 3, 8, 6, 5, {3, 3}, {1, 1}, {1, 1}},    // odd channels, not square
    Problem{1, 4, 7, 9, 17, {1, 1}, {1, 1}, {0, 0}},   // one by one
    Problem{2, 5, 9, 7, 3, {3, 3}, {2, 2}, {1, 1}},    // a stride that leaves pixels out
    Problem{2, 9, 8, 8, 16, {1, 1}, {2, 2}, {0, 0}},   //
    Problem{1, 3, 13, 12, 8, {7, 5}, {2, 1}, {3, 2}},  // axes that differ
    Problem{1, 2, 2, 3, 4, {3, 3}, {1, 1}, {2, 2}},    // windows outside of the image
};

/// Every plan of one direction against plain loops.
bool run(const Problem& problem, const Direction& direction, cudnnDataType_t type,
         cudnnDataType_t result) {
  const Handle handle;
  std::map<char, std::vector<float>> values{{'x', numbers(count_of(problem.x()), 1)},
                                            {'w', numbers(count_of(problem.w()), 2)},
                                            {'y', numbers(count_of(problem.y()), 3)}};
  const std::vector<float> before(values[direction.result].size(), -77.0F);
  values[direction.result].assign(before.size(), 0.0F);
  std::vector<float> wanted;
  {
    auto computed = values;
    add_convolution(problem, direction.result, computed['x'], computed['w'], computed['y']);
    wanted = rounded(kind_of(result), computed[direction.result]);
  }
  int plans = 0;
  const Descriptor graph = graph_of(handle.get(), problem, direction, type, result);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (const Descriptor& configuration : configurations(graph, mode)) {
      const auto plan = plan_of(handle.get(), configuration);
      if (!plan) continue;
      ++plans;
      const Operand target(kind_of(result), before);
      std::map<char, std::unique_ptr<Operand>> operands;
      Memory memory{{direction.result, target.get()}};
      for (const char id : {'x', 'w', 'y'})
        if (id != direction.result) {
          operands[id] = std::make_unique<Operand>(kind_of(type), values[id]);
          memory[id] = operands[id]->get();
        }
      const DeviceArray<char> workspace(static_cast<std::size_t>(workspace_of(*plan) + 1));
      check(execute(handle.get(), *plan, memory, workspace.get()));
      if (!same("convolution", target.read(), wanted)) return false;
    }
  if (type != result) return plans == 2;
  const int in_fp32 = type == CUDNN_DATA_FLOAT ? 1 : 0;
  return plans == 4 + in_fp32 + (direction.result == 'w' ? 1 : 0);
}

/// The faulty one asks for what is not emulated.
bool convolutions(bool faulty) {
  bool right = true;
  for (const Problem& problem : kProblems)
    for (const Direction& direction : {kForward, kData, kFilter})
      for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF})
        for (const cudnnDataType_t result :
             {CUDNN_DATA_FLOAT, CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF}) {
          if (result != type && result != CUDNN_DATA_FLOAT) continue;
          if (run(problem, direction, type, result)) continue;
          std::printf("problem %d, direction %c, types %d and %d\n",
                      static_cast<int>(&problem - kProblems.data()), direction.result, type,
                      result);
          right = false;
        }
  if (faulty)
    right = convolution(kProblems[0], 2).finalize() == CUDNN_STATUS_NOT_SUPPORTED && right;
  return right;
}

/// Where another image is added, if at all.
enum class Other { none, before_bias, behind_bias };

/// y = max(0, x * w + bias), or max(0, x * w + other + bias), or max(0, x * w + bias + other).
struct Fusion {
  cudnnDataType_t type;
  cudnnDataType_t bias_type;
  Other other;
  static constexpr Problem kProblem{2, 5, 6, 7, 9, {3, 3}, {1, 1}, {1, 1}};

  /// cuDNN has engines for it that need no compiling.
  [[nodiscard]] bool is_plain() const { return type == bias_type && other != Other::behind_bias; }
  [[nodiscard]] bool has_other() const { return other != Other::none; }
};

/// Its operations, in no order.
Descriptor graph_of(cudnnHandle_t handle, const Fusion& fusion) {
  const Problem& problem = Fusion::kProblem;
  const Descriptor bias = tensor('b', fusion.bias_type, {1, problem.filters, 1, 1});
  const Descriptor other = tensor('o', fusion.type, problem.y());
  std::vector<Descriptor> between;
  for (const char id : {'1', '2', '3'})
    between.push_back(tensor(id, CUDNN_DATA_FLOAT, problem.y(), true));
  Descriptor kind = convolution(problem);
  std::vector<Descriptor> steps;
  steps.push_back(pointwise(CUDNN_POINTWISE_RELU_FWD, between[fusion.has_other() ? 2 : 1], nullptr,
                            tensor('y', fusion.type, problem.y())));
  steps.push_back(operation(kForward, kind, tensor('x', fusion.type, problem.x()),
                            tensor('w', fusion.type, problem.w()), between[0]));
  std::size_t computed = 0;
  const auto add_other = [&] {
    steps.push_back(
        pointwise(CUDNN_POINTWISE_ADD, between[computed], &other, between[computed + 1]));
    ++computed;
  };
  if (fusion.other == Other::before_bias) add_other();
  steps.push_back(pointwise(CUDNN_POINTWISE_ADD, bias, &between[computed], between[computed + 1]));
  ++computed;
  if (fusion.other == Other::behind_bias) add_other();
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const Descriptor& step : steps) handles.push_back(step.get());
  return graph(handle, handles);
}

/// Captured, and launched twice.
void run(const Handle& handle, const StreamOwner& stream, const Descriptor& configuration,
         const Memory& memory) {
  const auto plan = plan_of(handle.get(), configuration);
  const DeviceArray<char> workspace(static_cast<std::size_t>(workspace_of(*plan) + 1));
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  CASE_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  check(execute(handle.get(), *plan, memory, workspace.get()));
  CASE_CHECK(cudaStreamEndCapture(stream.get(), &captured));
  CASE_CHECK(cudaGraphInstantiate(&executable, captured, 0));
  for (int turn = 0; turn < 2; ++turn) CASE_CHECK(cudaGraphLaunch(executable, stream.get()));
  stream.finish();
  CASE_CHECK(cudaGraphExecDestroy(executable));
  CASE_CHECK(cudaGraphDestroy(captured));
}

bool fused(const Fusion& fusion) {
  const Problem& problem = Fusion::kProblem;
  std::vector<float> x = numbers(count_of(problem.x()), 1);
  std::vector<float> w = numbers(count_of(problem.w()), 2);
  std::vector<float> wanted(count_of(problem.y()), 0.0F);
  add_convolution(problem, 'y', x, w, wanted);
  const std::vector<float> bias = numbers(static_cast<std::size_t>(problem.filters), 3);
  const std::vector<float> other = numbers(wanted.size(), 4);
  for (std::size_t index = 0; index < wanted.size(); ++index)
    wanted[index] = std::fmax(
        0.0F, wanted[index] + bias[index % bias.size()] + (fusion.has_other() ? other[index] : 0));
  const Operand device_x(kind_of(fusion.type), x);
  const Operand device_w(kind_of(fusion.type), w);
  const Operand device_bias(kind_of(fusion.bias_type), bias);
  const Operand device_other(kind_of(fusion.type), other);
  const StreamOwner stream;
  const Handle handle(stream.get());
  const Descriptor graph = graph_of(handle.get(), fusion);
  const std::vector<Descriptor> found = configurations(graph, CUDNN_HEUR_MODE_FALLBACK);
  bool right = found.size() == (fusion.is_plain() ? 2 : 1);
  for (const Descriptor& configuration : found) {
    const Operand device_y(kind_of(fusion.type), std::vector<float>(wanted.size()));
    Memory memory{{'x', device_x.get()},
                  {'w', device_w.get()},
                  {'b', device_bias.get()},
                  {'y', device_y.get()}};
    if (fusion.has_other()) memory['o'] = device_other.get();
    run(handle, stream, configuration, memory);
    right = same("fused", device_y.read(), rounded(kind_of(fusion.type), wanted)) && right;
  }
  return right;
}

/// The faulty one has no convolution.
bool fused_graphs(bool faulty) {
  bool right = true;
  for (const Other other : {Other::none, Other::before_bias, Other::behind_bias}) {
    right = fused({CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, other}) && right;
    right = fused({CUDNN_DATA_BFLOAT16, CUDNN_DATA_BFLOAT16, other}) && right;
    right = fused({CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT, other}) && right;
  }
  if (faulty) {
    const Descriptor x = tensor('x', CUDNN_DATA_FLOAT, {1, 1, 1, 1});
    const Descriptor y = tensor('y', CUDNN_DATA_FLOAT, {1, 1, 1, 1});
    const Descriptor alone = pointwise(CUDNN_POINTWISE_RELU_FWD, x, nullptr, y);
    const Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, alone);
    right = graph.finalize() == CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN && right;
  }
  return right;
}

/// What heuristics say: the engine that does not repeat comes first, and that which rounds fp32
/// operands to tf32 does so; others do not. Results of another type than the operands have no
/// engine.
bool engines(bool) {
  const Problem problem{1, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0}};
  const Handle handle;
  const Descriptor backward =
      graph_of(handle.get(), problem, kFilter, CUDNN_DATA_BFLOAT16, CUDNN_DATA_BFLOAT16);
  const std::vector<Descriptor> offered = configurations(backward, CUDNN_HEUR_MODE_A);
  bool right = has(offered.front(), CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
               !has(offered.back(), CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
               has(offered.back(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  Descriptor kind = convolution(problem);
  const Descriptor mixed = operation(kFilter, kind, tensor('x', CUDNN_DATA_BFLOAT16, problem.x()),
                                     tensor('w', CUDNN_DATA_FLOAT, problem.w()),
                                     tensor('y', CUDNN_DATA_BFLOAT16, problem.y()));
  right = configurations(graph(handle.get(), {mixed.get()}), CUDNN_HEUR_MODE_A).empty() && right;
  const Descriptor forward =
      graph_of(handle.get(), problem, kForward, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
  const float tie = 1 + std::ldexp(1.0F, -11);
  const Operand x(Kind::f32, {tie});
  const Operand w(Kind::f32, {1.0F});
  int refused = 0;
  int in_tf32 = 0;
  int with_workspace = 0;
  for (const Descriptor& configuration : configurations(forward, CUDNN_HEUR_MODE_A)) {
    const auto plan = plan_of(handle.get(), configuration);
    if (!plan) {
      ++refused;
      continue;
    }
    const bool is_tf32 = has(configuration, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    const Operand y(Kind::f32, {0.0F});
    const Memory memory{{'x', x.get()}, {'w', w.get()}, {'y', y.get()}};
    const std::int64_t bytes = workspace_of(*plan);
    if (bytes > 0) {
      ++with_workspace;
      right =
          execute(handle.get(), *plan, memory, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER &&
          right;
    }
    const DeviceArray<char> workspace(static_cast<std::size_t>(bytes + 1));
    check(execute(handle.get(), *plan, memory, workspace.get()));
    right = same("engine", y.read(), {is_tf32 ? 1 + std::ldexp(1.0F, -10) : tie}) && right;
    in_tf32 += is_tf32 ? 1 : 0;
  }
  return right && refused == 1 && in_tf32 == 1 && with_workspace == 1;
}

/// The engine that does not repeat rounds otherwise in every second run; all others give the same
/// bits.
bool repetitions(bool) {
  const Problem& problem = kProblems[0];
  const Handle handle;
  std::vector<float> thirds = numbers(count_of(problem.x()), 1);
  for (float& value : thirds) value /= 3;
  const Operand x(Kind::f32, thirds);
  const Operand y(Kind::f32, numbers(count_of(problem.y()), 3));
  bool right = true;
  const Descriptor graph =
      graph_of(handle.get(), problem, kFilter, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
  for (const Descriptor& configuration : configurations(graph, CUDNN_HEUR_MODE_A)) {
    const auto plan = plan_of(handle.get(), configuration);
    if (!plan) continue;
    const DeviceArray<char> workspace(static_cast<std::size_t>(workspace_of(*plan) + 1));
    std::vector<std::vector<float>> results;
    for (int run = 0; run < 3; ++run) {
      const Operand w(Kind::f32, std::vector<float>(count_of(problem.w())));
      check(execute(handle.get(), *plan, {{'x', x.get()}, {'w', w.get()}, {'y', y.get()}},
                    workspace.get()));
      results.push_back(w.read());
    }
    const bool repeats = !has(configuration, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    right = (results[1] == results[0]) == repeats && results[2] == results[0] && right;
  }
  return right;
}

/// What is refused, and with which status.
bool refused_descriptors(bool) {
  bool right = true;
  const auto expect = [&](const char* what, cudnnStatus_t got, cudnnStatus_t wanted) {
    if (got == wanted) return;
    std::printf("%s: %s, not %s\n", what, cudnnGetErrorString(got), cudnnGetErrorString(wanted));
    right = false;
  };
  cudnnBackendDescriptor_t none = nullptr;
  expect("a descriptor that is not emulated",
         cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &none),
         CUDNN_STATUS_NOT_SUPPORTED);
  const Descriptor empty(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  expect("nothing set", empty.finalize(), CUDNN_STATUS_BAD_PARAM);
  expect("another type",
         empty.try_set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, std::vector{1.0F}),
         CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  expect("too many", empty.try_set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, Sizes{1, 2}),
         CUDNN_STATUS_BAD_PARAM);
  expect("another descriptor's",
         empty.try_set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, Sizes{1, 2}),
         CUDNN_STATUS_BAD_PARAM);
  expect("not emulated", empty.try_set(CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, Sizes{4}),
         CUDNN_STATUS_NOT_SUPPORTED);
  std::int64_t value = 0;
  expect("got before it is final",
         cudnnBackendGetAttribute(empty.get(), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1,
                                  nullptr, &value),
         CUDNN_STATUS_NOT_INITIALIZED);
  const Descriptor x = tensor('x', CUDNN_DATA_FLOAT, {1, 2, 3, 4});
  expect("set when it is final", x.try_set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, Sizes{1}),
         CUDNN_STATUS_BAD_PARAM);
  const Problem problem{1, 2, 3, 4, 5, {3, 3}, {1, 1}, {0, 0}};
  Descriptor kind = convolution(problem);
  Descriptor wrong(kForward.operation);
  expect(
      "not final",
      wrong.try_set(kForward.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector{kind.get()}),
      CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  wrong.set(kForward.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(kForward.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .set(kForward.convolution, kind.made())
      .set(kForward.x, x)
      .set(kForward.w, tensor('w', CUDNN_DATA_FLOAT, problem.w()))
      .set(kForward.y, tensor('y', CUDNN_DATA_FLOAT, {1, 5, 1, 3}));
  expect("a result of another shape", wrong.finalize(), CUDNN_STATUS_BAD_PARAM);
  char said[200] = "";
  cudnnGetLastErrorString(said, sizeof said);
  if (std::strstr(said, "has no result of 1 x 5 x 1 x 3") == nullptr) right = false;
  const Handle handle;
  const Descriptor all =
      graph_of(handle.get(), problem, kForward, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
  const auto plan = plan_of(handle.get(), configurations(all, CUDNN_HEUR_MODE_FALLBACK).front());
  const DeviceArray<float> memory(100);
  expect("a tensor that is lacking",
         execute(handle.get(), *plan, {{'x', memory.get()}, {'w', memory.get()}}, nullptr),
         CUDNN_STATUS_BAD_PARAM);
  expect("a tensor at a wrong address",
         execute(handle.get(), *plan,
                 {{'x', memory.get() + 1}, {'w', memory.get()}, {'y', memory.get()}}, nullptr),
         CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  return right;
}

}  // namespace

std::vector<Case> convolution_cases() {
  return {{"convolutions", convolutions},
          {"fused-graphs", fused_graphs},
          {"engines", engines},
          {"repetitions", repetitions},
          {"refused-descriptors", refused_descriptors}};
}

}  // namespace ptbench::emulator::cases
