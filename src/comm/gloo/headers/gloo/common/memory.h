#pragma once

// gloo's headers of its transport include this one, and no version of gloo installs it: what they
// need of it, with the members that gloo's own classes have.
#if __has_include_next(<gloo/common/memory.h>)
#include_next <gloo/common/memory.h>
#else

#include <memory>

namespace gloo {

/// A reference that keeps whom it refers to from ending, for a moment.
template <class T>
class NonOwningPtr final {
 private:
  std::shared_ptr<T> ptr_;
};

/// A reference that knows when whom it refers to has ended.
template <class T>
class WeakNonOwningPtr final {
 private:
  std::weak_ptr<T> ptr_;
};

}  // namespace gloo

#endif
