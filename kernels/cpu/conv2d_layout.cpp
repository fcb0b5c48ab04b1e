#include "kernels/cpu/conv2d_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/cpu/conv2d_amx.h"
#include "kernels/cpu/conv2d_gemm.h"
#include "kernels/cpu/conv2d_winograd.h"
#include "kernels/cpu/image.h"
#include "src/base/error.h"

namespace ptbench::conv2d {
namespace {

using onednn::PassPlan;
using onednn::WeightLayout;

constexpr std::array<Method, 5> kMethods{Method::direct, Method::winograd, Method::winograd_widened,
                                         Method::amx, Method::gemm};
constexpr Size kAlignment = 16;           // floats: a cache line
constexpr Bytes kScratchAlignment = 128;  // a pair of cache lines

/// Tiles of 4×4 outputs (2×2 in bf16) from which on Winograd's transformed weights, which all tiles
/// share, cost less than they save.
constexpr Size kWinogradTiles = 16;

std::string_view name_of(Partition partition) {
  return partition == Partition::batch ? "batch" : "channels";
}

std::string_view name_of(Method method) {
  switch (method) {
    case Method::direct: return "direct";
    case Method::winograd: return "winograd";
    case Method::winograd_widened: return "winograd-widened";
    case Method::amx: return "amx";
    case Method::gemm: return "gemm";
  }
  throw Defect("unknown method of convolutions");
}

bool has_pass(const Conv2dSpec& spec, Pass pass) {
  return pass != Pass::data || spec.input_gradient;
}

/// Channels that a pass is cut by.
Size channels_of(const Conv2dSpec& spec, Pass pass) {
  return pass == Pass::data ? spec.input.channels : spec.outputs;
}

int members_of(const Conv2dSpec& spec, Partition partition, Pass pass, int threads) {
  const Size parts =
      partition == Partition::batch ? spec.input.batch : channel_blocks(channels_of(spec, pass));
  return static_cast<int>(std::min<Size>(threads, parts));
}

/// Whole blocks of channels.
Range channels_part(Size channels, int member, int members) {
  const Range blocks = part_of(channel_blocks(channels), member, members);
  return {blocks.begin * kChannelBlock, std::min(blocks.end * kChannelBlock, channels)};
}

Part part_of_member(const Conv2dSpec& spec, Partition partition, Pass pass, int member,
                    int members) {
  const Size channels = channels_of(spec, pass);
  if (partition == Partition::batch)
    return {.samples = part_of(spec.input.batch, member, members),
            .channels = {0, channels},
            .plan = nullptr};
  return {.samples = {0, spec.input.batch},
          .channels = channels_part(channels, member, members),
          .plan = nullptr};
}

/// What one member computes.
Conv2dSpec spec_of(const Conv2dSpec& whole, Pass pass, const Part& part) {
  Conv2dSpec spec = whole;
  spec.bias = whole.bias && pass != Pass::data;
  spec.add = whole.add && pass == Pass::forward;
  spec.relu = false;
  spec.input.batch = part.samples.size();
  (pass == Pass::data ? spec.input.channels : spec.outputs) = part.channels.size();
  return spec;
}

std::shared_ptr<const PassPlan> plan_pass(const Conv2dSpec& shape, Method method, Pass pass,
                                          const std::optional<WeightLayout>& weights) {
  switch (method) {
    case Method::direct: return onednn::plan_convolution(shape, pass, weights);
    case Method::winograd: return plan_winograd_convolution(shape, pass, WinogradProducts::of_type);
    case Method::winograd_widened:
      return plan_winograd_convolution(shape, pass, WinogradProducts::widened);
    case Method::amx: return plan_amx_convolution(shape, pass);
    case Method::gemm: return plan_gemm_convolution(shape, pass);
  }
  throw Defect("unknown method of convolutions");
}

/// The parts of a pass; empty where a member's cannot be planned. Members that share weights agree
/// on their layout.
std::vector<Part> plan_parts(const Conv2dSpec& spec, Partition partition, Pass pass, Method method,
                             int threads) {
  std::vector<Part> parts;
  const int members = members_of(spec, partition, pass, threads);
  std::optional<Conv2dSpec> last;
  for (int member = 0; member < members; ++member) {
    Part part = part_of_member(spec, partition, pass, member, members);
    const Conv2dSpec shape = spec_of(spec, pass, part);
    if (shape == last) {
      part.plan = parts.back().plan;
    } else {
      std::optional<WeightLayout> shared;
      if (partition == Partition::batch && member > 0) shared = parts.front().plan->weights();
      part.plan = plan_pass(shape, method, pass, shared);
    }
    if (part.plan == nullptr) return {};
    last = shape;
    parts.push_back(std::move(part));
  }
  return parts;
}

bool winograd_may_win(const Conv2dSpec& spec, Partition partition, Pass pass, int threads) {
  const Window& w = spec.window;
  const Size most_stride = spec.type == ElementType::f32 ? 2 : 1;
  if (w.kernel_height != 3 || w.kernel_width != 3 || w.stride_height != w.stride_width ||
      w.stride_height > most_stride)
    return false;
  const Size tile = spec.type == ElementType::f32 ? 4 : 2;
  const ImageShape output = spec.output();
  const Size tiles = ((output.height + tile - 1) / tile) * ((output.width + tile - 1) / tile);
  const Size cut =
      partition == Partition::batch ? members_of(spec, partition, pass, threads) : Size{1};
  return spec.input.batch / cut * tiles >= kWinogradTiles;
}

/// Lays out the arena by the parts of the weights pass.
void place_pieces(Layout& layout) {
  Size at = 0;
  for (Part& part : layout.parts[static_cast<std::size_t>(Pass::weights)]) {
    if (layout.way.partition == Partition::batch && !layout.pieces.empty()) break;
    const WeightLayout& weights = part.plan->weights();
    const Size count = static_cast<Size>(weights.bytes() / sizeof(float));
    const Size bias = round_up(count, kAlignment);
    const Size biases = layout.spec.bias ? round_up(part.channels.size(), kAlignment) : 0;
    layout.pieces.push_back({.outputs = part.channels,
                             .begin = at,
                             .weights = count,
                             .bias = bias,
                             .elements = bias + biases,
                             .layout = weights});
    part.weights = float_bytes(at);
    at += bias + biases;
  }
}

/// The weights that the parts of a pass read, packed one after the other from 0 on.
std::vector<WeightPiece> pieces_of(const Layout& layout, Pass pass) {
  std::vector<WeightPiece> pieces;
  Bytes at = 0;
  for (const Part& part : layout.of(pass)) {
    if (layout.way.partition == Partition::batch && !pieces.empty()) break;
    const bool data = pass == Pass::data;
    pieces.push_back({.outputs = data ? Range{0, layout.spec.outputs} : part.channels,
                      .inputs = data ? part.channels : Range{0, layout.spec.input.channels},
                      .layout = part.plan->weights(),
                      .begin = at});
    at += round_up(part.plan->weights().bytes(), kScratchAlignment);
  }
  return pieces;
}

std::vector<WeightPiece> arena_pieces(const Layout& layout) {
  std::vector<WeightPiece> pieces;
  for (const Piece& piece : layout.pieces)
    pieces.push_back({.outputs = piece.outputs,
                      .inputs = {0, layout.spec.input.channels},
                      .layout = piece.layout,
                      .begin = float_bytes(piece.begin)});
  return pieces;
}

bool same_weights(const std::vector<WeightPiece>& a, const std::vector<WeightPiece>& b) {
  return std::ranges::equal(a, b, [](const WeightPiece& x, const WeightPiece& y) {
    return x.outputs == y.outputs && x.inputs == y.inputs && x.layout == y.layout;
  });
}

/// Finds or makes the weights that `pass` reads; false where they cannot be brought there.
bool place_weights(Layout& layout, Pass pass) {
  auto& parts = layout.parts[static_cast<std::size_t>(pass)];
  if (parts.empty()) return true;
  const std::vector<WeightPiece> arena = arena_pieces(layout);
  std::vector<WeightPiece> wanted = pieces_of(layout, pass);
  int copy = -1;
  if (!same_weights(wanted, arena)) {
    const auto found = std::ranges::find_if(
        layout.copies, [&](const auto& other) { return same_weights(wanted, other); });
    copy = static_cast<int>(found - layout.copies.begin());
    if (found == layout.copies.end()) {
      auto transfers = plan_transfers(arena, wanted, layout.members);
      if (!transfers) return false;
      layout.copy_bytes =
          std::max(layout.copy_bytes,
                   wanted.back().begin + round_up(wanted.back().layout.bytes(), kScratchAlignment));
      layout.copies.push_back(wanted);
      layout.transfers.push_back(std::move(*transfers));
    }
  }
  const std::vector<WeightPiece>& place =
      copy < 0 ? arena : layout.copies[static_cast<std::size_t>(copy)];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].copy = copy;
    parts[i].weights = place[place.size() == 1 ? 0 : i].begin;
  }
  return true;
}

void place_scratch(Layout& layout) {
  const auto place = [&layout](Bytes bytes) {
    const Bytes begin = layout.scratch_bytes;
    layout.scratch_bytes += round_up(bytes, kScratchAlignment);
    return begin;
  };
  layout.copies_begin = place(layout.copy_bytes);
  if (layout.spec.relu)
    layout.open_gradient = place(static_cast<Bytes>(native_elements(layout.spec.output())) *
                                 bytes_of(layout.spec.type));
  for (int member = 0; member < layout.members; ++member) {
    Bytes packed = 0;
    Bytes scratchpad = 0;
    for (const Pass pass : kPasses) {
      if (member >= static_cast<int>(layout.of(pass).size())) continue;
      const Part& part = layout.of(pass)[static_cast<std::size_t>(member)];
      ImageShape image = pass == Pass::data ? layout.spec.input : layout.spec.output();
      image.channels = part.channels.size();
      if (layout.packs())
        packed = std::max(packed,
                          static_cast<Bytes>(native_elements(image)) * bytes_of(layout.spec.type));
      scratchpad = std::max(scratchpad, part.plan->scratchpad_bytes());
    }
    // The first member's gradient is written straight into the arena.
    const bool partial = layout.sums() && member > 0;
    layout.scratch.push_back({.packed = place(packed),
                              .partial = place(partial ? float_bytes(layout.elements()) : Bytes{0}),
                              .scratchpad = place(scratchpad)});
  }
}

}  // namespace

std::string Way::name(const Conv2dSpec& spec) const {
  std::string text(name_of(partition));
  for (const Pass pass : kPasses)
    if (has_pass(spec, pass))
      text += fmt::format(" {}={}", onednn::name_of(pass), name_of(method(pass)));
  return text;
}

Range Layout::owned(int member) const {
  if (way.partition == Partition::channels) {
    const Piece& piece = pieces[static_cast<std::size_t>(member)];
    return {piece.begin, piece.begin + piece.elements};
  }
  const Range lines =
      part_of(elements() / kAlignment, member, static_cast<Size>(of(Pass::weights).size()));
  return {lines.begin * kAlignment, lines.end * kAlignment};
}

std::vector<Method> methods_of(const Conv2dSpec& spec, Partition partition, Pass pass,
                               int threads) {
  const auto works = [&](Method method) {
    return !plan_parts(spec, partition, pass, method, threads).empty();
  };
  std::vector<Method> methods;
  if (works(Method::direct)) methods.push_back(Method::direct);
  // Of stride 2, filtering gains more than the margin in all passes together, in one pass often
  // less, and passes are tried one by one.
  const bool leads = spec.window.stride_height > 1;
  if (winograd_may_win(spec, partition, pass, threads)) {
    if (works(Method::winograd))
      methods.insert(leads ? methods.begin() : methods.end(), Method::winograd);
    if (works(Method::winograd_widened)) methods.push_back(Method::winograd_widened);
  }
  if (works(Method::amx)) methods.push_back(Method::amx);
  if (methods.empty()) methods.push_back(Method::gemm);
  return methods;
}

std::vector<Way> ways_of(const Conv2dSpec& spec, Partition partition, int threads) {
  std::vector<Way> ways = {{.partition = partition}};
  for (const Pass pass : kPasses) {
    if (pass == Pass::data && !spec.input_gradient) continue;
    std::vector<Way> more;
    for (const Way& way : ways)
      for (const Method method : methods_of(spec, partition, pass, threads)) {
        more.push_back(way);
        more.back().methods[static_cast<std::size_t>(pass)] = method;
      }
    ways = std::move(more);
  }
  return ways;
}

std::vector<Way> thinkable_ways() {
  std::vector<Way> ways;
  for (const Partition partition : {Partition::batch, Partition::channels})
    for (const Method forward : kMethods)
      for (const Method weights : kMethods)
        for (const Method data : kMethods)
          ways.push_back({.partition = partition, .methods = {forward, weights, data}});
  return ways;
}

bool channels_may_win(const Conv2dSpec& spec, int threads) {
  if (threads == 1 || (spec.plain_input && spec.input_gradient)) return false;
  if (channel_blocks(spec.outputs) < 2) return false;
  if (spec.input.batch < threads) return true;
  // Cutting by samples moves the weights' gradients between cores, by channels the activations.
  const Size weights =
      spec.outputs * spec.input.channels * spec.window.kernel_height * spec.window.kernel_width;
  return 4 * weights >= spec.input.elements() + spec.output().elements();
}

std::shared_ptr<const Layout> make_layout(const Conv2dSpec& spec, const Way& way, int threads) {
  auto layout = std::make_shared<Layout>();
  layout->spec = spec;
  layout->way = way;
  for (const Pass pass : kPasses) {
    if (!has_pass(spec, pass)) continue;
    auto& parts = layout->parts[static_cast<std::size_t>(pass)];
    parts = plan_parts(spec, way.partition, pass, way.method(pass), threads);
    if (parts.empty()) return nullptr;
    layout->members = std::max(layout->members, static_cast<int>(parts.size()));
  }
  place_pieces(*layout);
  if (!place_weights(*layout, Pass::forward) || !place_weights(*layout, Pass::data)) return nullptr;
  place_scratch(*layout);
  return layout;
}

}  // namespace ptbench::conv2d
