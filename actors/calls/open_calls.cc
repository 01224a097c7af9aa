#include "actors/calls/open_calls.h"

#include <utility>

namespace troupe::detail {

void OpenCalls::began() {
  std::lock_guard lock(mutex_);
  if (open_ == 0) all_ended_ = std::make_shared<WaitPoint>();  // first: without memory no call is open
  ++open_;
}

void OpenCalls::ended(const Error* error) {
  std::shared_ptr<WaitPoint> last;
  {
    std::lock_guard lock(mutex_);
    if (error != nullptr && !first_) first_ = copy_of(*error);
    if (--open_ == 0) last = std::move(all_ended_);
  }
  if (last) last->signal();
}

std::optional<Error> OpenCalls::wait() {
  while (true) {
    std::shared_ptr<WaitPoint> open;
    {
      std::lock_guard lock(mutex_);
      if (open_ == 0) return std::exchange(first_, std::nullopt);
      open = all_ended_;
    }
    open->wait(std::nullopt);  // every call ends: by its answer, its deadline, its peer's end or a shutdown
  }
}

OpenCall::OpenCall(std::shared_ptr<OpenCalls> calls) : calls_(std::move(calls)) { calls_->began(); }

OpenCall::~OpenCall() {
  if (calls_) calls_->ended(nullptr);
}

void OpenCall::ended(const Error* error) { std::exchange(calls_, nullptr)->ended(error); }

}  // namespace troupe::detail
