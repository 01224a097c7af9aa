// Something that is done when nobody holds a thing any more.
#pragma once

#include <functional>
#include <utility>

namespace troupe::detail {

/// Calls a function in its destructor: also when the message that carries it is dropped. The function does not block.
class WhenGone {
 public:
  explicit WhenGone(std::function<void()> then) : then_(std::move(then)) {}
  ~WhenGone() { then_(); }
  WhenGone(const WhenGone&) = delete;
  WhenGone& operator=(const WhenGone&) = delete;

 private:
  const std::function<void()> then_;
};

}  // namespace troupe::detail
