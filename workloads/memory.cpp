#include "workloads/memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// A moment of a step: forward passes come first, backward passes in reverse.
class Moments {
 public:
  explicit Moments(const LoweredGraph& graph) : count_(static_cast<Size>(graph.operators.size())) {}
  [[nodiscard]] static Size forward(Size op) { return op; }
  [[nodiscard]] Size backward(Size op) const { return 2 * count_ - 1 - op; }
  [[nodiscard]] static Size loading() { return -1; }
  /// The first backward pass, before which other programs have their turn.
  [[nodiscard]] Size turning() const { return count_; }

 private:
  Size count_;
};

const OperatorSpec& operator_of(const LoweredGraph& graph, Size op) {
  return graph.operators[static_cast<std::size_t>(op)].spec;
}

/// The tensor whose memory `tensor` has.
std::size_t root_of(const LoweredGraph& graph, std::size_t tensor) {
  while (graph.tensors[tensor].same_memory_as != kNoTensor)
    tensor = static_cast<std::size_t>(graph.tensors[tensor].same_memory_as);
  return tensor;
}

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

ActivationMemory place_activations(const LoweredGraph& graph,
                                   FunctionRef<Bytes(const TensorSpec&)> bytes_of,
                                   Bytes alignment) {
  const Moments moments(graph);
  std::vector<Lifetime> pieces;
  for (const LoweredTensor& tensor : graph.tensors) {
    const bool data = tensor.producer == kNoTensor;
    const Size first = data ? Moments::loading() : Moments::forward(tensor.producer);
    const bool is_read = !data && backward_reads_output(operator_of(graph, tensor.producer));
    const Size last = is_read ? moments.backward(tensor.producer) : first;
    const bool own_memory = tensor.same_memory_as == kNoTensor;
    pieces.push_back(
        {.bytes = own_memory ? bytes_of(tensor.spec) : 0, .first = first, .last = last});
  }
  const std::vector<std::vector<Use>> uses = uses_of(graph);
  for (std::size_t tensor = 0; tensor < uses.size(); ++tensor) {
    Lifetime& life = pieces[root_of(graph, tensor)];
    for (const Use& use : uses[tensor]) {
      life.last = std::max(life.last, Moments::forward(use.reader));
      if (backward_reads_input(operator_of(graph, use.reader), use.input))
        life.last = std::max(life.last, moments.backward(use.reader));
    }
  }
  const auto leaving = static_cast<std::size_t>(graph.leaving);
  if (!graph.has_loss) {
    Lifetime& life = pieces[root_of(graph, leaving)];
    life.last = std::max(life.last, moments.turning());
  }
  ActivationMemory memory;
  std::vector<std::pair<std::size_t, std::size_t>> owners;
  for (std::size_t op = 0; op < graph.operators.size(); ++op) {
    const LoweredOperator& lowered = graph.operators[op];
    memory.gradients.emplace_back(lowered.inputs.size(), Bytes{0});
    memory.needed.emplace_back(lowered.inputs.size(), false);
    for (std::size_t input = 0; input < lowered.inputs.size(); ++input) {
      const LoweredTensor& tensor = graph.tensors[static_cast<std::size_t>(lowered.inputs[input])];
      if (!tensor.needs_gradient) continue;
      memory.needed[op][input] = true;
      owners.emplace_back(op, input);
      pieces.push_back({.bytes = bytes_of(tensor.spec),
                        .first = moments.backward(static_cast<Size>(op)),
                        .last = moments.backward(tensor.producer)});
    }
  }
  if (!graph.has_loss)
    pieces.push_back({.bytes = bytes_of(graph.tensors[leaving].spec),
                      .first = moments.turning(),
                      .last = moments.backward(graph.tensors[leaving].producer)});
  const Placement placement = place(pieces, alignment);
  memory.total = placement.total;
  if (!graph.has_loss) memory.leaving_gradient = placement.offsets.back();
  for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor)
    memory.tensors.push_back(placement.offsets[root_of(graph, tensor)]);
  for (std::size_t i = 0; i < owners.size(); ++i)
    memory.gradients[owners[i].first][owners[i].second] =
        placement.offsets[graph.tensors.size() + i];
  return memory;
}

MemoryPrediction estimate_memory(const Graph& graph, Size batch, ElementType type,
                                 const OptimizerSpec& optimizer, GradientUse gradients) {
  // In double: a product of absurd sizes must be large, not negative.
  const auto bytes = [](double wanted) {
    constexpr double kMost = 1e18;
    return static_cast<Bytes>(std::min(wanted, kMost));
  };
  const double parameters = static_cast<double>(graph.parameter_count()) * sizeof(float);
  const LoweredGraph one = lower(graph, {.batch = 1, .global_batch = 1, .type = type});
  // As a CPU keeps images: channels in blocks of 16.
  constexpr Size kChannels = 16;
  const auto padded_bytes = [](const TensorSpec& tensor) {
    const Size elements = tensor.shape.elements();
    const Size channels = tensor.format == TensorFormat::native ? tensor.shape[1] : 1;
    const Size padded = tensor.format == TensorFormat::native ? round_up(channels, kChannels) : 1;
    return static_cast<Bytes>(elements / channels * padded) * bytes_of(tensor.type);
  };
  const ActivationMemory sample = place_activations(one, padded_bytes, 1);
  // Operators whose parameters may have padding have a place of their own.
  const auto may_have_padding = [](const ParameterSpec& tensor) {
    return std::ranges::any_of(
        tensor.shape.dimensions().first(std::min<std::size_t>(tensor.shape.rank(), 2)),
        [](Size channels) { return channels % kChannels != 0; });
  };
  Size shared = 0;
  Size own = 0;
  for (const LoweredOperator& lowered : one.operators) {
    const std::vector<ParameterSpec> tensors = parameters_of(lowered.spec);
    const Size elements = elements_of(tensors);
    if (std::ranges::any_of(tensors, may_have_padding))
      own += elements;
    else
      shared = std::max(shared, elements);
  }
  const double at_once = static_cast<double>(shared + own) * sizeof(float);
  return {.parameters = bytes(parameters),
          .gradients = bytes(gradients == GradientUse::passing ? at_once : parameters),
          .optimizer = bytes(parameters * optimizer.state_arenas()),
          .activations = bytes(static_cast<double>(sample.total) * static_cast<double>(batch)),
          .workspace = 0};
}

Placement place(std::span<const Lifetime> pieces, Bytes alignment) {
  const auto aligned = [&](Bytes bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Of equal pieces the first comes first: the same placement everywhere.
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return pieces[a].bytes != pieces[b].bytes ? pieces[a].bytes > pieces[b].bytes : a < b;
  });
  Placement placement{.offsets = std::vector<Bytes>(pieces.size(), 0), .total = 0};
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t piece : order) {
    Bytes offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(pieces[piece], pieces[other])) continue;
      if (placement.offsets[other] >= offset + pieces[piece].bytes) break;
      offset = std::max(offset, placement.offsets[other] + aligned(pieces[other].bytes));
    }
    placement.offsets[piece] = offset;
    placement.total = std::max(placement.total, offset + aligned(pieces[piece].bytes));
    const auto behind = std::ranges::upper_bound(
        placed, offset, {}, [&](std::size_t i) { return placement.offsets[i]; });
    placed.insert(behind, piece);
  }
  return placement;
}

}  // namespace ptbench
