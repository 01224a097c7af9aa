// How many lines an audit log gets, whatever peers do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "actors/clock.h"
#include "node/audit/audit_entry.h"

namespace troupe {

/// Merges equal entries into one with a count, and bounds the number of lines. No entry is lost: all are counted.
///
///   - The first of equal entries is given out at once, those of each second after it as one, with their number.
///   - Each kind of event has 32 lines at once, and one more per second. Without a line to spare repeated entries go on
///     counting, and new ones are counted together, without their texts: kOthers, every ten seconds. Heads of peers are
///     not bounded here: a node keeps only some (actors/membership/audit_heads.h), and each counts.
///
/// A plain class; one thread at a time.
class AuditMerge {
 public:
  using WallTime = std::chrono::system_clock::time_point;

  /// An entry, the number of equal ones that it stands for, and when the first of these came.
  struct Counted {
    AuditEntry entry;
    std::uint64_t count = 0;
    WallTime time;
  };

  static constexpr const char* kOthers = "others, beyond the rate of lines";
  static constexpr double kLinesAtOnce = 32;
  static constexpr double kLinesPerSecond = 1;
  static constexpr std::size_t kDistinctMax = 256;  ///< of each kind of event, that are compared with new ones
  static constexpr std::size_t kTextMax = 256;      ///< bytes of each text; the rest is cut off

  void add(AuditEntry entry, TimePoint now, WallTime time);

  /// Returns what is to be written by `now`, in order. What could not be taken without memory (std::bad_alloc) stays,
  /// as it does with `take_all`.
  [[nodiscard]] std::vector<Counted> take(TimePoint now);

  /// Returns all that was added and not taken.
  [[nodiscard]] std::vector<Counted> take_all();

  /// Forgets all that was added and not taken. Returns how many entries that were.
  [[nodiscard]] std::uint64_t drop_all() noexcept;

  /// Returns whether `take` has something at once.
  [[nodiscard]] bool is_ready() const { return !ready_.empty(); }

  /// Returns when `take` may next have something without another entry; nullopt: never.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

 private:
  struct Repeats {
    std::uint64_t count = 0;  ///< not given out yet
    WallTime time;            ///< of the first of these
    TimePoint due;
  };
  /// Of one kind of event.
  struct Lines {
    double left = kLinesAtOnce;
    std::optional<TimePoint> counted_at;
    std::map<AuditEntry, Repeats> repeats;
    Repeats others;
    [[nodiscard]] bool take(TimePoint now);
  };

  void take_due(std::vector<Counted>& taken, TimePoint now);
  void take_counts(std::vector<Counted>& taken);

  std::vector<Counted> ready_;
  std::map<AuditEvent, Lines> lines_;
};

}  // namespace troupe
