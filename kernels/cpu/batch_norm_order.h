#pragma once

#include <algorithm>

#include "kernels/cpu/batch_norm_loops.h"
#include "kernels/cpu/image.h"
#include "kernels/cpu/simd.h"
#include "src/device/isa.h"
#include "src/device/team.h"

// The order in which batch normalisation visits an image, shared by its members.
namespace ptbench::batch_norm {

/// Pixels of one plane that are visited in one go.
struct Tile {
  Size block;
  Size begin;  ///< the first pixel's elements
  Size pixels;
};

/// Each member visits its samples tile by tile, as these lie in memory. Blocks that lie channels
/// last share cache lines: there a few pixels of one block are followed by those of the next.
class Order {
 public:
  /// `planes` of `batch` samples.
  Order(const Planes& planes, Size batch, Team& team, Isa isa, int members)
      : planes_(planes), batch_(batch), team_(team), isa_(isa), members_(members) {}

  [[nodiscard]] const Planes& planes() const { return planes_; }

  /// Sums over all pixels, in parts that are summed in float: add(vector, tile, part, part's sums)
  /// for every tile of a part, then add_part(vector, part, its sums, sums of its block). Each
  /// member clears and fills its own of `sums` and `parts` (members × blocks).
  template <class Add, class AddPart>
  void sum_up(Sums* sums, PartSums* parts, const Add& add, const AddPart& add_part) const {
    team_.run(members_, [&](int member) {
      const Size own = member * planes_.blocks;
      std::fill_n(sums + own, planes_.blocks, Sums{});
      const Range samples = part_of(batch_, member, members_);
      simd::run(isa_, [&](auto vector) {
        for (Size sample = samples.begin; sample < samples.end; ++sample)
          sum_up_sample(vector, sample, sums + own, parts + own, add, add_part);
      });
    });
  }

  /// write(vector, tile) for every tile, from each member's last sample, which its caches still
  /// hold, to its first, with which the next operator begins.
  template <class Write>
  void write(const Write& write) const {
    const Size few = blocked() ? planes_.pixels : kFew;
    team_.run(members_, [&](int member) {
      const Range samples = part_of(batch_, member, members_);
      simd::run(isa_, [&](auto vector) {
        for (Size sample = samples.end; sample-- > samples.begin;)
          for (Size pixel = 0; pixel < planes_.pixels; pixel += few)
            for (Size block = 0; block < planes_.blocks; ++block)
              write(vector, tile(sample, block, {pixel, pixel + few}));
      });
    });
  }

 private:
  [[nodiscard]] bool blocked() const { return planes_.order == ImageOrder::blocked; }

  /// `pixels` of a plane, those that there are.
  [[nodiscard, gnu::always_inline]] inline Tile tile(Size sample, Size block, Range pixels) const {
    return {.block = block,
            .begin = planes_.offset(sample, block) + pixels.begin * planes_.stride,
            .pixels = std::min(pixels.end, planes_.pixels) - pixels.begin};
  }

  template <class Vector, class Add, class AddPart>
  [[gnu::always_inline]] inline void sum_up_sample(Vector vector, Size sample, Sums* sums,
                                                   PartSums* parts, const Add& add,
                                                   const AddPart& add_part) const {
    const Size together = blocked() ? 1 : planes_.blocks;
    const Size few = blocked() ? kPart : kFew;
    for (Size first = 0; first < planes_.blocks; first += together)
      for (Size pixel = 0; pixel < planes_.pixels; pixel += kPart) {
        const Range part{pixel, std::min(pixel + kPart, planes_.pixels)};
        std::fill_n(parts + first, together, PartSums{});
        for (Size start = part.begin; start < part.end; start += few)
          for (Size block = first; block < first + together; ++block)
            add(vector, tile(sample, block, {start, std::min(start + few, part.end)}),
                tile(sample, block, part), parts[block]);
        for (Size block = first; block < first + together; ++block)
          add_part(vector, tile(sample, block, part), parts[block], sums[block]);
      }
  }

  Planes planes_;
  Size batch_;
  Team& team_;
  Isa isa_;
  int members_;
};

}  // namespace ptbench::batch_norm
