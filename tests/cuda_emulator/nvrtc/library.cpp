// A shadow of NVIDIA's runtime compiler, which compiles nothing: it tells its version, and whether
// it is there decides which engines the shadow of cuDNN has. Prototype by the NVRTC documentation;
// many toolkits come without nvrtc.h.

// NOLINTBEGIN(readability-identifier-naming): as NVIDIA names them
extern "C" {
using nvrtcResult = int;

nvrtcResult nvrtcVersion(int* major_part, int* minor_part) {
  constexpr nvrtcResult kInvalidInput = 3;
  if (major_part == nullptr || minor_part == nullptr) return kInvalidInput;
  *major_part = 13;
  *minor_part = 0;
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
