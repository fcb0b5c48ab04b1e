#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace ptbench {

template <class Signature>
class FunctionRef;

/// A view of a callable, for callbacks on the hot path: two pointers, never allocates. The callable
/// must outlive the call, which holds for an argument bound to a lambda.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable&, Arguments...>)
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): a view converts.
  FunctionRef(Callable&& callable)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace ptbench
