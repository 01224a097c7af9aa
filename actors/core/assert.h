// Checks of the runtime's own invariants, on in every build.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace troupe::detail {

/// An invariant of the runtime is broken: a bug of the runtime, never of a user or a peer. The handler that detects it
/// fails the work it was doing (core/guarded.h); in the router and membership it ends the node.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws BrokenInvariant "`what` (file.cc:12: `condition` is false)".
[[noreturn]] void invariant_broken(const char* condition, const std::string& what, const char* file,
                                   std::uint32_t line);

}  // namespace troupe::detail

/// Throws BrokenInvariant unless `condition` holds. `what` is text with the values; it is evaluated only on failure.
#define TROUPE_ASSERT(condition, what) \
  ((condition) ? void() : ::troupe::detail::invariant_broken(#condition, what, __FILE__, __LINE__))
