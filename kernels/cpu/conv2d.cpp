#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/add_values.h"
#include "kernels/cpu/conv2d_channels.h"
#include "kernels/cpu/conv2d_layout.h"
#include "kernels/cpu/conv2d_padded.h"
#include "kernels/cpu/image.h"
#include "kernels/cpu/operators.h"
#include "kernels/cpu/rectify_values.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using conv2d::Channels;
using conv2d::kPasses;
using conv2d::Layout;
using conv2d::MemberScratch;
using conv2d::Part;
using conv2d::Partition;
using conv2d::Piece;
using conv2d::Way;
using onednn::Kernel;
using onednn::Pass;

class Conv2d final : public Operator {
 public:
  Conv2d(std::shared_ptr<const Layout> layout, const Bindings& bindings, Team& team, Isa isa)
      : layout_(std::move(layout)), bindings_(bindings), team_(team), isa_(isa) {
    ensure(bindings.scratch.size() >= layout_->scratch_bytes &&
               (bindings.addends.empty() || bindings.addends.size() >= layout_->addend_bytes()),
           "a convolution has its memory");
    for (const auto& transfers : layout_->transfers)
      copies_.emplace_back(transfers, bindings.parameters.data(), copied_weights(),
                           layout_->members);
    open_gradient();
    for (const Pass pass : kPasses) {
      if (pass == Pass::data && input_gradient(0).empty()) continue;
      for (int member = 0; member < static_cast<int>(layout_->of(pass).size()); ++member)
        kernels_[static_cast<std::size_t>(pass)].push_back(
            bind_part(pass, member, arena_of(pass, member)));
    }
    if (bindings.addends.empty()) return;
    for (int member = 0; member < (layout_->sums() ? 1 : members(Pass::weights)); ++member)
      added_.push_back(bind_part(Pass::weights, member, addends()));
  }

  void forward() override {
    bring_weights(Pass::forward);
    team_.run(members(Pass::forward), [this](int member) {
      if (layout_->spec.add) bring_addend(member);
      run(Pass::forward, member);
      // A pass of its own over this member's part: oneDNN's rectifier makes 0 of NaN.
      if (layout_->spec.relu) rectify_values(isa_, layout_->spec.type, computed(member));
      if (layout_->packs())
        channels(Pass::forward, member).scatter(packed(member), bindings_.output.data());
    });
  }

  void backward(GradientMode mode) override {
    const bool adds = mode == GradientMode::add;
    ensure(!adds || !added_.empty(), "a convolution that adds has memory for it");
    if (opening_ != nullptr) opening_->backward(mode);
    if (!kernels_[static_cast<std::size_t>(Pass::data)].empty()) bring_weights(Pass::data);
    team_.run(layout_->members, [this, adds](int member) {
      // Weights last: the update follows, and finds part of the gradient in the core's own cache.
      if (member < std::ssize(kernels_[static_cast<std::size_t>(Pass::data)])) {
        run(Pass::data, member);
        if (layout_->packs())
          channels(Pass::data, member).scatter(packed(member), input_gradient(0).data());
      }
      if (member < members(Pass::weights)) {
        if (layout_->packs())
          channels(Pass::weights, member)
              .gather(bindings_.output_gradients[0].data(), packed(member));
        compute_gradient(member, adds);
      }
    });
    if (layout_->sums())
      team_.run(members(Pass::weights), [this, adds](int member) { sum_gradients(member, adds); });
  }

 private:
  [[nodiscard]] int members(Pass pass) const { return static_cast<int>(layout_->of(pass).size()); }
  [[nodiscard]] const Part& part(Pass pass, int member) const {
    return layout_->of(pass)[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] const MemberScratch& scratch(int member) const {
    return layout_->scratch[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] std::byte* packed(int member) const {
    return bindings_.scratch.data() + scratch(member).packed;
  }
  /// What a pass is cut by: channels of y, of its gradient or of the gradient of x.
  [[nodiscard]] Channels channels(Pass pass, int member) const {
    return {pass == Pass::data ? layout_->spec.input : layout_->spec.output(),
            part(pass, member).channels, layout_->spec.type};
  }
  void run(Pass pass, int member) {
    kernels_[static_cast<std::size_t>(pass)][static_cast<std::size_t>(member)]->run();
  }

  [[nodiscard]] std::byte* copied_weights() const {
    return bindings_.scratch.data() + layout_->copies_begin;
  }
  /// Makes the copy that the pass reads, if it reads one.
  void bring_weights(Pass pass) {
    const int copy = layout_->copy_of(pass);
    if (copy < 0) return;
    team_.run(layout_->members, [this, copy](int member) {
      copies_[static_cast<std::size_t>(copy)].refresh(member);
    });
  }

  [[nodiscard]] std::span<std::byte> input_gradient(std::size_t input) const {
    const auto& all = bindings_.input_gradients;
    return input < all.size() ? all[input] : std::span<std::byte>();
  }

  /// Prepares the gradient in front of the rectifier and of the addition, which the passes read in
  /// place of the output's and which is the addend's too.
  void open_gradient() {
    const Conv2dSpec& spec = layout_->spec;
    const TensorSpec image = *tensors_of(spec).output;
    std::span<std::byte> open = input_gradient(1);
    if (!spec.relu && open.empty()) return;
    Bindings bound;
    bound.output = bindings_.output;
    bound.output_gradients = bindings_.output_gradients;
    if (spec.relu && open.empty())
      open = bindings_.scratch.subspan(layout_->open_gradient, bindings_.output.size());
    bound.input_gradients = {open};
    opening_ = spec.relu ? plan_operator(ReluSpec{.tensor = image}, team_, isa_)->bind(bound)
                         : plan_operator(AddSpec{.tensor = image}, team_, isa_)->bind(bound);
    bindings_.output_gradients = {open};
  }

  /// Where this member's part of the output is computed.
  [[nodiscard]] std::span<std::byte> computed(int member) const {
    const Part& p = part(Pass::forward, member);
    ImageShape image = layout_->spec.output();
    image.batch = p.samples.size();
    image.channels = p.channels.size();
    const Bytes bytes = static_cast<Bytes>(native_elements(image)) * bytes_of(layout_->spec.type);
    if (layout_->packs()) return {packed(member), bytes};
    const auto begin = output_of(Pass::forward, member) - bindings_.output.data();
    return bindings_.output.subspan(static_cast<std::size_t>(begin), bytes);
  }

  /// To where the sums are added to it.
  void bring_addend(int member) const {
    const std::span<std::byte> to = computed(member);
    const std::byte* addend = bindings_.inputs[1].data();
    if (layout_->packs())
      channels(Pass::forward, member).gather(addend, to.data());
    else
      std::memcpy(to.data(), addend + (to.data() - bindings_.output.data()), to.size());
  }

  /// Where this member's part of the input or its gradient begins.
  [[nodiscard]] const std::byte* input_of(Pass pass, int member) const {
    const Conv2dSpec& spec = layout_->spec;
    const Part& p = part(pass, member);
    const std::byte* image =
        pass == Pass::data ? input_gradient(0).data() : bindings_.inputs[0].data();
    if (pass == Pass::data && layout_->packs()) return packed(member);
    if (pass == Pass::data && layout_->way.partition == Partition::channels)
      return image + channels(pass, member).offset(0);
    ImageShape before = spec.input;
    before.batch = p.samples.begin;
    return image +
           static_cast<Bytes>(spec.plain_input ? before.elements() : native_elements(before)) *
               bytes_of(spec.type);
  }

  /// Where this member's part of the output or its gradient begins.
  [[nodiscard]] const std::byte* output_of(Pass pass, int member) const {
    const Conv2dSpec& spec = layout_->spec;
    const std::byte* image =
        pass == Pass::forward ? bindings_.output.data() : bindings_.output_gradients[0].data();
    if (pass != Pass::data && layout_->packs()) return packed(member);
    if (pass != Pass::data && layout_->way.partition == Partition::channels)
      return image + channels(pass, member).offset(0);
    ImageShape before = spec.output();
    before.batch = part(pass, member).samples.begin;
    return image + static_cast<Bytes>(native_elements(before)) * bytes_of(spec.type);
  }

  /// The parameters or gradients that a pass works on.
  [[nodiscard]] const float* arena_of(Pass pass, int member) const {
    if (pass != Pass::weights) return bindings_.parameters.data();
    return layout_->sums() && member > 0 ? partial(member) : bindings_.gradients.data();
  }

  std::unique_ptr<Kernel> bind_part(Pass pass, int member, const float* arena) const {
    const Part& p = part(pass, member);
    const Layout& l = *layout_;
    const Piece& piece =
        l.pieces[pass == Pass::data || l.pieces.size() == 1 ? 0 : static_cast<std::size_t>(member)];
    const std::byte* weights =
        p.copy < 0 ? reinterpret_cast<const std::byte*>(arena) : copied_weights();
    return p.plan->bind({.input = input_of(pass, member),
                         .weights = weights + p.weights,
                         .bias = arena + piece.begin + piece.bias,
                         .output = output_of(pass, member),
                         .scratchpad = bindings_.scratch.data() + scratch(member).scratchpad});
  }

  [[nodiscard]] float* partial(int member) const {
    return reinterpret_cast<float*>(bindings_.scratch.data() + scratch(member).partial);
  }

  /// Laid out as the gradients.
  [[nodiscard]] float* addends() const { return elements<float>(bindings_.addends).data(); }

  /// The gradient of this member's part: to the arena, or to memory of which it is added later.
  void compute_gradient(int member, bool adds) {
    const bool is_partial = layout_->sums() && member > 0;
    if (adds && !is_partial)
      added_[static_cast<std::size_t>(member)]->run();
    else
      run(Pass::weights, member);
    if (is_partial)
      clear_gaps(partial(member));
    else if (adds && layout_->sums())
      clear_gaps(addends());
    else if (adds)
      add_piece(layout_->pieces[static_cast<std::size_t>(member)]);
  }

  /// Zeros behind the weights and behind the biases of a gradient that is not the arena's.
  void clear_gaps(float* gradient) {
    const Piece& piece = layout_->pieces.front();
    std::fill(gradient + piece.weights, gradient + piece.bias, 0.0F);
    std::fill(gradient + piece.bias + biases_of(piece), gradient + piece.elements, 0.0F);
  }
  [[nodiscard]] Size biases_of(const Piece& piece) const {
    return layout_->spec.bias ? piece.outputs.size() : 0;
  }

  void add_piece(const Piece& piece) {
    float* to = bindings_.gradients.data() + piece.begin;
    const float* from = addends() + piece.begin;
    add_values(isa_, from, to, piece.weights);
    add_values(isa_, from + piece.bias, to + piece.bias, biases_of(piece));
  }

  /// Adds the members' gradients over this member's range, in the order of the members, to the
  /// first one's; where `adds`, that is not in the arena yet, to which the sum is added then.
  void sum_gradients(int member, bool adds) {
    const Range owned = layout_->owned(member);
    float* gradients = bindings_.gradients.data() + owned.begin;
    float* sum = adds ? addends() + owned.begin : gradients;
    for (int other = 1; other < members(Pass::weights); ++other)
      add_values(isa_, partial(other) + owned.begin, sum, owned.size());
    if (adds) add_values(isa_, sum, gradients, owned.size());
  }

  std::shared_ptr<const Layout> layout_;
  Bindings bindings_;
  Team& team_;
  Isa isa_;
  std::vector<WeightCopies> copies_;
  std::array<std::vector<std::unique_ptr<Kernel>>, 3> kernels_;
  std::unique_ptr<Operator> opening_;  ///< makes the gradient of open_gradient(); null: none
  /// The weights passes to the addends, of members that write to the arena; none where nobody adds.
  std::vector<std::unique_ptr<Kernel>> added_;
};

class Conv2dPlan final : public OperatorPlan {
 public:
  Conv2dPlan(std::shared_ptr<const Layout> layout, Team& team, Isa isa)
      : layout_(std::move(layout)), team_(team), isa_(isa) {}

  [[nodiscard]] ParameterLayout layout() const override {
    ParameterLayout result{.elements = layout_->elements(), .owned = {}};
    for (int member = 0; member < static_cast<int>(layout_->of(Pass::weights).size()); ++member)
      if (!layout_->owned(member).empty())
        result.owned.push_back({.range = layout_->owned(member), .member = member});
    return result;
  }
  [[nodiscard]] Bytes scratch_bytes() const override { return layout_->scratch_bytes; }
  [[nodiscard]] Bytes addend_bytes() const override { return layout_->addend_bytes(); }

  [[nodiscard]] std::string description() const override {
    std::string text = layout_->way.name(layout_->spec);
    for (const Pass pass : kPasses)
      for (const Part& part : layout_->of(pass)) text += " | " + part.plan->description();
    return text;
  }

  [[nodiscard]] std::optional<Flops> executed_flops() const override {
    const Flops all = flops_of(layout_->spec);
    Flops executed{.forward = all.forward * executed_share(Pass::forward),
                   .backward = all.forward * executed_share(Pass::weights)};
    if (layout_->spec.input_gradient) executed.backward += all.forward * executed_share(Pass::data);
    return executed;
  }

  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    check(tensors.size());
    for (const Piece& piece : layout_->pieces) {
      const float* rows = tensors[0].data() + piece.outputs.begin * weights_an_output();
      onednn::bind_reorder(row_major(piece), rows, piece.layout, arena.data() + piece.begin)->run();
      if (layout_->spec.bias)
        std::copy_n(tensors[1].data() + piece.outputs.begin, piece.outputs.size(),
                    arena.data() + piece.begin + piece.bias);
    }
  }

  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    check(tensors.size());
    for (const Piece& piece : layout_->pieces) {
      float* rows = tensors[0].data() + piece.outputs.begin * weights_an_output();
      onednn::bind_reorder(piece.layout, arena.data() + piece.begin, row_major(piece), rows)->run();
      if (layout_->spec.bias)
        std::copy_n(arena.data() + piece.begin + piece.bias, piece.outputs.size(),
                    tensors[1].data() + piece.outputs.begin);
    }
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<Conv2d>(layout_, bindings, team_, isa_);
  }

 private:
  /// The share of a pass's products that are executed: Winograd's filtering takes products² for
  /// results² of 3×3 windows, those of the last tiles beyond the edge too.
  [[nodiscard]] double executed_share(Pass pass) const {
    const onednn::WinogradTile tile = layout_->of(pass).front().plan->winograd_tile();
    if (tile.results == 0) return 1;
    const ImageShape results = pass == Pass::data ? layout_->spec.input : layout_->spec.output();
    const auto tiles = [&](Size side) { return (side + tile.results - 1) / tile.results; };
    constexpr Size kWindow = 9;
    // The data pass has as many products as the forward pass, of the output's pixels.
    return static_cast<double>(tiles(results.height) * tiles(results.width) * tile.products *
                               tile.products) /
           static_cast<double>(layout_->spec.output().pixels() * kWindow);
  }
  void check(std::size_t tensors) const {
    ensure(tensors == (layout_->spec.bias ? 2U : 1U),
           "a convolution has a weight and maybe a bias");
  }
  [[nodiscard]] Size weights_an_output() const {
    const Conv2dSpec& spec = layout_->spec;
    return spec.input.channels * spec.window.kernel_height * spec.window.kernel_width;
  }
  [[nodiscard]] onednn::WeightLayout row_major(const Piece& piece) const {
    const Conv2dSpec& spec = layout_->spec;
    return onednn::row_major({piece.outputs.size(), spec.input.channels, spec.window.kernel_height,
                              spec.window.kernel_width},
                             ElementType::f32);
  }

  std::shared_ptr<const Layout> layout_;
  Team& team_;
  Isa isa_;
};

}  // namespace

std::vector<std::string> candidates_of(const Conv2dSpec& spec, int threads) {
  const Conv2dSpec padded = conv2d::padded(spec);
  std::vector<Way> ways = conv2d::ways_of(padded, Partition::batch, threads);
  if (conv2d::channels_may_win(padded, threads))
    for (const Way& way : conv2d::ways_of(padded, Partition::channels, threads))
      if (conv2d::make_layout(padded, way, threads) != nullptr) ways.push_back(way);
  std::vector<std::string> names;
  names.reserve(ways.size());
  for (const Way& way : ways) names.push_back(way.name(padded));
  return names;
}

std::unique_ptr<OperatorPlan> plan_operator(const Conv2dSpec& spec, std::string_view candidate,
                                            Team& team, Isa isa) {
  const Conv2dSpec padded = conv2d::padded(spec);
  for (const Way& way : conv2d::thinkable_ways()) {
    if (candidate != way.name(padded)) continue;
    if (way.partition == Partition::channels && !conv2d::channels_may_win(padded, team.size()))
      return nullptr;
    auto layout = conv2d::make_layout(padded, way, team.size());
    if (layout == nullptr) return nullptr;
    auto plan = std::make_unique<Conv2dPlan>(std::move(layout), team, isa);
    if (spec == padded) return plan;
    return conv2d::plan_padded(spec, std::move(plan), team, isa);
  }
  return nullptr;
}

}  // namespace ptbench
