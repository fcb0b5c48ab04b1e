#pragma once

namespace ptbench {

/// Cycles per second of the core that the calling thread runs on, as it runs now: the best of five
/// chains of dependent integer additions, of one cycle each. Takes 0.1 ms or so. What a hypervisor
/// or a busy neighbour takes away is not seen; what power, heat and wide vector units do is.
[[nodiscard]] double effective_frequency();

}  // namespace ptbench
