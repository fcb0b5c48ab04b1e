#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/device/scheduler.h"
#include "tests/cuda_emulator/device/traffic.h"
#include "tests/cuda_emulator/ptx/kernel.h"

namespace ptbench::emulator {

/// Who touches memory: an operation as a whole, or a thread of its kernel.
struct Toucher {
  U32 operation = 0;
  U32 block = 0;  ///< 0: the operation as a whole
  U16 thread = 0;
  U16 block_epoch = 0;
  U16 warp_epoch = 0;
  bool is_atomic = false;
};

/// Remembers for every word of memory who wrote and who read it last, and finds accesses that
/// nothing orders: between streams (vector clocks of operations), between blocks of a launch,
/// between warps (barriers of the block) and between lanes (collectives of the warp). FastTrack
/// (Flanagan and Freund, 2009), with epochs for the three levels. A word has one mark of writing
/// and one of reading, so that of accesses to parts of a word some races go unseen; what is found
/// is one.
class Marks {
 public:
  Marks(const DeviceMemory& memory, const Scheduler& scheduler);

  /// Memory that is no allocation: variables of the module, which begin written.
  void add_region(int device, const void* at, std::size_t bytes);
  /// The regions are those of this device from now on; at first, of device 0.
  void use_regions_of(int device) { device_ = device; }
  /// Forgets everything about an allocation that is freed; its addresses are not given out again.
  void forget(const void* at, std::size_t bytes);

  /// One access to device memory; empty, or what is wrong with it.
  [[nodiscard]] std::string touch(const void* at, std::size_t bytes, bool writes,
                                  const Toucher& who);
  /// The same in shared memory; `offset` is that in the block's window.
  [[nodiscard]] std::string touch_shared(U32 offset, std::size_t bytes, bool writes,
                                         const Toucher& who);

  // Blocks that order themselves: one writes, fences and changes an atomic; another changes the
  // same atomic afterwards and reads.
  void begin_grid();
  void change_atomic(const void* at, const Toucher& who, bool fenced);

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 private:
  struct Mark {
    U32 operation = 0;
    U32 block = 0;
    U16 thread = 0;
    U16 block_epoch = 0;
    U16 warp_epoch = 0;
    U8 bytes = 0;  ///< of the word, as a mask
    U8 flags = 0;
  };
  struct Word {
    Mark write;
    Mark read;
  };
  static constexpr U8 kAtomic = 1, kLanes = 2, kWarps = 4, kBlocks = 8;
  static constexpr U8 kWritten = 16;  ///< of a write: four bits, which bytes were ever written
  static constexpr U8 kOthers = 16;   ///< of a read: there are more, in other_readers_

  struct Release {
    std::size_t index;  ///< in the order of releases through this atomic
    U16 thread;
    U16 block_epoch;
  };
  using Channel = std::unordered_map<U32, Release>;  ///< by block
  struct Acquisition {
    const Channel* channel;
    std::size_t releases;
    U16 thread;
    U16 block_epoch;
  };

  [[nodiscard]] Word* words_of(const void* at);
  [[nodiscard]] const char* clash(const Mark& earlier, const Mark& now, bool in_shared) const;
  [[nodiscard]] const char* clash_in_block(const Mark& earlier, const Mark& now) const;
  [[nodiscard]] bool was_released_to(const Mark& earlier, const Mark& now) const;
  void remember_read(Mark& seen, const Mark& now, bool in_shared);
  [[nodiscard]] std::string race_with_readers(Word& word, const Mark& now, bool in_shared);
  [[nodiscard]] std::string race_text(const char* did, const Mark& earlier, const Mark& now,
                                      const char* why) const;
  [[nodiscard]] std::string touch_word(Word& word, Mark now, bool writes, bool in_shared);
  template <class WordAt>
  [[nodiscard]] std::string touch_range(U64 begin, std::size_t bytes, bool writes,
                                        const Toucher& who, bool in_shared, WordAt word_at);

  const DeviceMemory& memory_;
  const Scheduler& scheduler_;
  Word* device_words_;
  std::vector<Word> shared_words_;
  /// Readers of a word that are not ordered with its last one: of several streams.
  std::unordered_map<const Mark*, std::vector<Mark>> other_readers_;
  std::map<int, std::map<const U8*, std::vector<Word>>> regions_;  ///< by device
  int device_ = 0;
  std::unordered_map<const void*, Channel> channels_;
  std::vector<Acquisition> acquisitions_;  ///< of the block that runs
  U32 acquiring_block_ = 0;
  Traffic traffic_;
};

}  // namespace ptbench::emulator
