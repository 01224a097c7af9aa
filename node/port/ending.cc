#include "node/port/ending.h"

#include <new>
#include <utility>

namespace troupe::port {

void Ending::expect(Port::Done done) noexcept {
  done_ = std::move(done);
  if (open_) ++*open_;
}

void Ending::end(Port::Outcome outcome, Body body, std::string why) noexcept {
  outcome_ = outcome;
  body_ = std::move(body);
  why_ = std::move(why);
  close();
}

void Ending::tell() {
  const Port::Done done = std::exchange(done_, nullptr);
  if (!done) return;
  close();
  Port::Result result{outcome_, {}, std::move(why_)};
  try {
    result.parts = to_parts(std::exchange(body_, {}));
  } catch (const std::bad_alloc&) {
    result = {Port::Outcome::stopped, {}, kNoMemory};
  }
  done(std::move(result));
}

void Ending::close() noexcept {
  if (const auto open = std::exchange(open_, nullptr)) --*open;
}

}  // namespace troupe::port
