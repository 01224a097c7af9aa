// Explores every order of events of a model world.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_set>

namespace troupe::testing {

/// A broken rule: its name, then the events that led to it, one per line.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Broken(what);
}

/// A World is copied for each possible next event. REQUIRES of World: `key()`, equal for equal worlds; `events()`, all
/// possible next events; `comes_of_itself(event)`, false for an event that may never occur; `apply(event)`;
/// `text(event)`. A broken rule throws Broken: from `apply`, from `check()` if there is one, and from `check_end()` in
/// a state where no event comes of itself.
template <class World>
class EveryOrder {
 public:
  /// Counts the distinct worlds in `states`.
  explicit EveryOrder(std::uint64_t& states) : states_(states) {}

  void visit(const World& world, std::size_t depth = 0) {
    require(depth <= kDepthMax, "no end: " + world.key());
    if constexpr (requires { world.check(); }) world.check();
    if (!known_.insert(std::hash<std::string>{}(world.key())).second) return;
    ++states_;
    const auto events = world.events();
    if (std::ranges::none_of(events, &World::comes_of_itself)) world.check_end();
    for (const auto& event : events) {
      try {
        World next = world;
        next.apply(event);
        visit(next, depth + 1);
      } catch (const Broken& broken) {
        throw Broken(World::text(event) + "\n" + broken.what());
      }
    }
  }

 private:
  static constexpr std::size_t kDepthMax = 400;  // scripts are short

  std::uint64_t& states_;
  std::unordered_set<std::size_t> known_;
};

}  // namespace troupe::testing
