#include "kernels/cpu/onednn_weights.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ptbench {
namespace {

/// Outputs in which layouts are blocked: convolutions have 16 to 64, as inner products.
constexpr std::array<Size, 3> kBlocks{16, 32, 64};

Range relative(Range range, Range whole) {
  return {range.begin - whole.begin, range.end - whole.begin};
}

std::optional<WeightTransfer> transfer(const WeightPiece& from, const WeightPiece& to,
                                       Range outputs, Range inputs, int member) {
  const auto source =
      from.layout.part(relative(outputs, from.outputs), relative(inputs, from.inputs));
  const auto target = to.layout.part(relative(outputs, to.outputs), relative(inputs, to.inputs));
  if (!source || !target) return std::nullopt;
  return WeightTransfer{.from = *source,
                        .from_begin = from.begin,
                        .to = *target,
                        .to_begin = to.begin,
                        .member = member};
}

/// The rectangle cut into one transfer a member, whole blocks of outputs each.
std::optional<std::vector<WeightTransfer>> cut(const WeightPiece& from, const WeightPiece& to,
                                               Range outputs, Range inputs, int members,
                                               Size block) {
  std::vector<WeightTransfer> transfers;
  const Size blocks = (outputs.size() + block - 1) / block;
  for (int member = 0; member < members; ++member) {
    const Range part = part_of(blocks, member, members);
    if (part.empty()) continue;
    const Range mine = {outputs.begin + part.begin * block,
                        std::min(outputs.begin + part.end * block, outputs.end)};
    auto one = transfer(from, to, mine, inputs, member);
    if (!one) return std::nullopt;
    transfers.push_back(std::move(*one));
  }
  return transfers;
}

std::optional<std::vector<WeightTransfer>> cut(const WeightPiece& from, const WeightPiece& to,
                                               Range outputs, Range inputs, int members) {
  for (const Size block : kBlocks)
    if (auto transfers = cut(from, to, outputs, inputs, members, block)) return transfers;
  return cut(from, to, outputs, inputs, 1, outputs.size());
}

}  // namespace

std::optional<std::vector<WeightTransfer>> plan_transfers(std::span<const WeightPiece> from,
                                                          std::span<const WeightPiece> to,
                                                          int members) {
  std::vector<WeightTransfer> transfers;
  const bool shared = from.size() == 1;
  int owner = 0;
  for (const WeightPiece& source : from) {
    for (const WeightPiece& target : to) {
      const Range outputs = intersect(source.outputs, target.outputs);
      const Range inputs = intersect(source.inputs, target.inputs);
      if (outputs.empty() || inputs.empty()) continue;
      auto some = cut(source, target, outputs, inputs, shared ? members : 1);
      if (!some) return std::nullopt;
      for (WeightTransfer& one : *some) {
        if (!shared) one.member = owner;
        transfers.push_back(std::move(one));
      }
    }
    ++owner;
  }
  return transfers;
}

WeightCopies::WeightCopies(const std::vector<WeightTransfer>& transfers, const void* from,
                           std::byte* to, int members)
    : transfers_(static_cast<std::size_t>(members)) {
  for (const WeightTransfer& one : transfers)
    transfers_[static_cast<std::size_t>(one.member)].push_back(onednn::bind_reorder(
        one.from, static_cast<const std::byte*>(from) + one.from_begin, one.to, to + one.to_begin));
}

void WeightCopies::refresh(int member) {
  if (transfers_.empty()) return;
  for (const auto& transfer : transfers_[static_cast<std::size_t>(member)]) transfer->run();
}

}  // namespace ptbench
