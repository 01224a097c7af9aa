// Our own invariants, checked in every build.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace troupe::detail {

/// An invariant of the runtime is broken: a bug of ours, never of the user or of a peer. The handler in which it shows fails
/// what it worked for (core/guarded.h); the router and membership end the node.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws BrokenInvariant "`what` (file.cc:12: `condition` is false)".
[[noreturn]] void invariant_broken(const char* condition, const std::string& what, const char* file, std::uint32_t line);

}  // namespace troupe::detail

/// Throws BrokenInvariant unless `condition` holds. `what` names the values; it is made only then.
#define TROUPE_ASSERT(condition, what) \
  ((condition) ? void() : ::troupe::detail::invariant_broken(#condition, what, __FILE__, __LINE__))
