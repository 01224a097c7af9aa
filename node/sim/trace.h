// The decisions of a simulated world: one line each, and a hash of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "actors/clock.h"

namespace troupe::sim {

/// Keeps the last lines and a rolling hash of every decision since the start. One thread at a time.
class Trace {
 public:
  explicit Trace(std::size_t lines_max = 4096) : ring_(lines_max) {}

  /// The world chose number `choice` of `choices`: `what`, on `node`.
  void decided(Duration time, std::string_view node, std::string_view what, std::uint64_t choice,
               std::uint64_t choices);

  /// Adds a line for readers, from a log or about a fault. Not part of the hash.
  void remark(Duration time, std::string_view node, std::string_view text);

  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  /// Returns the last `lines` lines, the oldest first.
  [[nodiscard]] std::string text(std::size_t lines) const;

 private:
  struct Line {
    Duration time{};
    std::string node;
    std::string what;
    std::uint64_t choice = 0;
    std::uint64_t choices = 0;  // 0: a remark
  };

  Line& next(Duration time, std::string_view node, std::string_view what);
  void mix(std::uint64_t value);

  std::vector<Line> ring_;  // strings keep their capacity
  std::uint64_t count_ = 0;
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

}  // namespace troupe::sim
