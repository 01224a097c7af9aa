// Which boundaries a backward pass will use, from what this node's vertices know: rule BW-9 of PROTOCOLS.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "autograd/grad_fn.h"
#include "messages/ids.h"
#include "messages/route.h"

namespace troupe::detail {

/// The boundaries that a pass uses if it begins at some vertices of one node. Plain state; one thread at a time.
class KnownRoute {
 public:
  /// For passes of `context`. `self` is the node of the vertices. More than `max` boundaries are unknown. REQUIRES:
  /// both names outlive this object.
  KnownRoute(const ContextId& context, const NodeName& self, std::size_t max)
      : context_(context), self_(self), max_(max) {}

  /// Adds what a pass uses from `vertex` on.
  void add(const GradFn& vertex);

  /// Returns all that was added; nullopt if a part is unknown, because a vertex depends on too many received values or
  /// on a value of another context, or because a peer did not report which boundaries its own values depend on. Called
  /// once.
  [[nodiscard]] std::optional<msg::RouteLegs> take();

 private:
  [[nodiscard]] bool add_received(const GradFn& vertex);
  void add_boundaries(const NodeName& sender, std::uint64_t incarnation, const NodeName& receiver,
                      std::span<const std::uint64_t> serials);

  const ContextId& context_;
  const NodeName& self_;
  const std::size_t max_;
  msg::RouteLegs legs_;  // in no order until taken
  bool is_known_ = true;
};

/// Returns whether the legs are in order and no more than `max` boundaries: whether KnownRoute can have made them.
[[nodiscard]] bool is_well_formed(const msg::RouteLegs& legs, std::size_t max);

}  // namespace troupe::detail
