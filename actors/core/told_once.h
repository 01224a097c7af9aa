// A handler that is told something exactly once, also if what should tell it is gone.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace troupe::detail {

/// Calls `handler` with what it is called with first, and drops all later calls. If it is never called, `otherwise` tells
/// `handler` when the last copy goes; it must not throw then. Copies are one handler; one thread at a time.
template <class... Args>
class ToldOnce {
 public:
  using Handler = std::function<void(Args...)>;
  using Otherwise = std::function<void(const Handler&)>;

  ToldOnce(Handler handler, Otherwise otherwise)
      : keeper_(std::make_shared<Keeper>(std::move(handler), std::move(otherwise))) {}

  void operator()(Args... args) const {
    if (const Handler handler = std::exchange(keeper_->handler, nullptr)) handler(std::forward<Args>(args)...);
  }

 private:
  struct Keeper {
    Keeper(Handler h, Otherwise o) : handler(std::move(h)), otherwise(std::move(o)) {}
    ~Keeper() {
      if (handler) otherwise(handler);
    }
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    Handler handler;
    const Otherwise otherwise;
  };

  std::shared_ptr<Keeper> keeper_;
};

}  // namespace troupe::detail
