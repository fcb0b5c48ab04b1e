#pragma once

#include <cudnn_graph.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

// cuDNN's graph API for small convolutions, from tensors to plans that run.

namespace ptbench::emulator::cases {

inline void check(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::printf("cuDNN: %s\n", cudnnGetErrorString(status));
  std::exit(1);
}

class Handle {
 public:
  explicit Handle(cudaStream_t stream = nullptr) {
    check(cudnnCreate(&handle_));
    check(cudnnSetStream(handle_, stream));
  }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(cudnnBackendCreateDescriptor(type, &handle_));
  }
  ~Descriptor() {
    if (handle_ != nullptr) cudnnBackendDestroyDescriptor(handle_);
  }
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  template <class T>
  [[nodiscard]] cudnnStatus_t try_set(cudnnBackendAttributeName_t name,
                                      cudnnBackendAttributeType_t type,
                                      const std::vector<T>& values) const {
    return cudnnBackendSetAttribute(handle_, name, type, static_cast<std::int64_t>(values.size()),
                                    values.data());
  }
  template <class T>
  const Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        const std::vector<T>& values) const {
    check(try_set(name, type, values));
    return *this;
  }
  template <class T>
  const Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        T value) const {
    check(cudnnBackendSetAttribute(handle_, name, type, 1, &value));
    return *this;
  }
  const Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) const {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
  }
  template <class T>
  [[nodiscard]] T get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    T value{};
    std::int64_t count = 0;
    check(cudnnBackendGetAttribute(handle_, name, type, 1, &count, &value));
    return value;
  }
  [[nodiscard]] cudnnStatus_t finalize() const { return cudnnBackendFinalize(handle_); }
  Descriptor& made() {
    check(finalize());
    return *this;
  }
  [[nodiscard]] cudnnBackendDescriptor_t get() const { return handle_; }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

using Sizes = std::vector<std::int64_t>;

/// Strides of [images][rows][columns][channels] for dimensions in cuDNN's order.
inline Sizes channels_last(const Sizes& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
}

inline Descriptor tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                         bool is_virtual = false) {
  Descriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes)
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, channels_last(sizes))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16})
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  descriptor.made();
  return descriptor;
}

/// A convolution: [vertical, horizontal] of windows, strides and paddings.
struct Problem {
  std::int64_t images, channels, rows, columns, filters;
  std::array<std::int64_t, 2> window, stride, padding;

  [[nodiscard]] std::int64_t responses(int axis) const {
    const auto at = static_cast<std::size_t>(axis);
    return ((axis == 0 ? rows : columns) + 2 * padding[at] - window[at]) / stride[at] + 1;
  }
  [[nodiscard]] Sizes x() const { return {images, channels, rows, columns}; }
  [[nodiscard]] Sizes w() const { return {filters, channels, window[0], window[1]}; }
  [[nodiscard]] Sizes y() const { return {images, filters, responses(0), responses(1)}; }
};

inline std::size_t count_of(const Sizes& sizes) {
  return static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
}

inline Descriptor convolution(const Problem& problem, std::int64_t dilation = 1) {
  const auto both = [](const std::array<std::int64_t, 2>& pair) { return Sizes{pair[0], pair[1]}; };
  Descriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, Sizes{dilation, dilation})
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, both(problem.stride))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, both(problem.padding))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, both(problem.padding));
  return descriptor;
}

/// Names of one direction: of the descriptor, and of its attributes from alpha on.
struct Direction {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t alpha, beta, convolution, x, w, y;
  char result;  ///< 'x', 'w' or 'y'
};
inline constexpr Direction kForward{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                    'y'};
inline constexpr Direction kData{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                 'x'};
inline constexpr Direction kFilter{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                   'w'};

/// The ids of tensors are letters.
inline Descriptor operation(const Direction& direction, Descriptor& convolution,
                            const Descriptor& x, const Descriptor& w, const Descriptor& y) {
  Descriptor descriptor(direction.operation);
  descriptor.set(direction.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(direction.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .set(direction.convolution, convolution.made())
      .set(direction.x, x)
      .set(direction.w, w)
      .set(direction.y, y);
  descriptor.made();
  return descriptor;
}

inline Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b,
                            const Descriptor& y) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  Descriptor descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind.made())
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b != nullptr) descriptor.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  descriptor.made();
  return descriptor;
}

inline Descriptor graph(cudnnHandle_t handle,
                        const std::vector<cudnnBackendDescriptor_t>& operations) {
  Descriptor descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle)
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations);
  descriptor.made();
  return descriptor;
}

/// The graph of a direction, with x, w and y of one type. Where that of the result is another, it
/// is written by an operation of its own (which does nothing else).
inline Descriptor graph_of(cudnnHandle_t handle, const Problem& problem, const Direction& direction,
                           cudnnDataType_t type, cudnnDataType_t result_type) {
  const bool converts = type != result_type;
  const std::map<char, Sizes> sizes{{'x', problem.x()}, {'w', problem.w()}, {'y', problem.y()}};
  const auto operand = [&](char id) {
    return converts && id == direction.result ? tensor('v', CUDNN_DATA_FLOAT, sizes.at(id), true)
                                              : tensor(id, type, sizes.at(id));
  };
  Descriptor kind = convolution(problem);
  const Descriptor convolved = operation(direction, kind, operand('x'), operand('w'), operand('y'));
  if (!converts) return graph(handle, {convolved.get()});
  const Descriptor converted =
      pointwise(CUDNN_POINTWISE_IDENTITY, operand(direction.result), nullptr,
                tensor(direction.result, result_type, sizes.at(direction.result)));
  return graph(handle, {convolved.get(), converted.get()});
}

inline std::vector<Descriptor> configurations(const Descriptor& graph,
                                              cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode)
      .set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.made();
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t index = 0; index < count; ++index)
    handles.push_back(found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, handles.data()));
  while (static_cast<std::int64_t>(found.size()) > count) found.pop_back();  // count was a bound
  return found;
}

inline std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& configuration) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle));
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count,
                                 notes.data()));
  notes.resize(static_cast<std::size_t>(count));
  return notes;
}

inline bool has(const Descriptor& configuration, cudnnBackendNumericalNote_t note) {
  for (const cudnnBackendNumericalNote_t noted : notes_of(configuration))
    if (noted == note) return true;
  return false;
}

/// A plan; null where cuDNN has none for this configuration.
inline std::unique_ptr<Descriptor> plan_of(cudnnHandle_t handle, const Descriptor& configuration) {
  auto plan = std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle)
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  const cudnnStatus_t status = plan->finalize();
  if (status == CUDNN_STATUS_NOT_SUPPORTED) return nullptr;
  check(status);
  return plan;
}

inline std::int64_t workspace_of(const Descriptor& plan) {
  return plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
}

using Memory = std::map<std::int64_t, void*>;

inline cudnnStatus_t execute(cudnnHandle_t handle, const Descriptor& plan, const Memory& memory,
                             void* workspace) {
  Sizes ids;
  std::vector<void*> pointers;
  for (const auto& [id, pointer] : memory) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  return cudnnBackendExecute(handle, plan.get(), pack.made().get());
}

}  // namespace ptbench::emulator::cases
