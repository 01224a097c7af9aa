// What a member knows of the meetings of its partial barriers, so that after the death of a leader no entry of one
// round meets those of another (MB-18).
//
// The answers of a leader reach its members separately: when it dies, some may have passed and others not. These enter
// again at the next leader, where the first are in the next round already. So each contribution to a partial barrier
// says which entry it is and which entries its member met last. All that meet see the same, and judge it alike. Those
// that have passed may enter nothing more: at the next leader they enter once again with what they have met.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/lives.h"
#include "actors/membership/entry_note.h"
#include "messages/ids.h"

namespace troupe::detail {

/// A place where the members of a group meet for one operation. It stays the same when the leader changes.
struct PartialPlace {
  std::string operation;
  std::vector<NodeName> members;
  friend auto operator<=>(const PartialPlace&, const PartialPlace&) = default;
};

/// Thread rule: any thread may call any member. Where several threads of a node enter at one place, only the meeting
/// that one of them passed last is known.
class PartialMeetings {
 public:
  /// The most places whose last meetings are kept; those of the place that was added first are forgotten first.
  static constexpr std::size_t kPlacesMax = 1024;

  /// Returns what the member says of `entry` at that leader.
  [[nodiscard]] EntryNote note(const PartialPlace& place, const BarrierEntryId& entry, const NodeLife& leader) const;

  /// What a meeting is for one of its members.
  enum class Verdict : std::uint8_t {
    met,    ///< it has passed
    late,   ///< another has passed with its entry before, and its entry meets nobody any more
    again,  ///< the entry of another is late: it enters this leader's next meeting
  };
  /// Judges the meeting of `notes`, one of each member that met, for the member with the entry `own`.
  [[nodiscard]] static Verdict judge(const BarrierEntryId& own, const std::vector<EntryNote>& notes);

  /// The member has passed the meeting of `notes` at that leader.
  void passed(const PartialPlace& place, const NodeLife& leader, const std::vector<EntryNote>& notes);

  /// An entry of the member that has not been answered yet: enters at the next leader, if this one is gone.
  class Entering {
   public:
    Entering(PartialMeetings& meetings, PartialPlace place);
    Entering(const Entering&) = delete;
    Entering& operator=(const Entering&) = delete;
    ~Entering();

   private:
    PartialMeetings& meetings_;
    const PartialPlace place_;
  };

  /// What the member tells `leader` of the last meeting that it passed at `place`: that meeting's leader is over.
  struct MeetingReport {
    NodeName leader;
    PartialPlace place;
    EntryNote note;
  };
  /// Returns the reports of member `self` that the present leaders do not have: of each place where it enters nothing.
  [[nodiscard]] std::vector<MeetingReport> take_reports(const NodeName& self, const Lives& lives);

 private:
  struct Meeting {
    NodeLife leader;
    std::vector<BarrierEntryId> met;
    NodeLife told = {};  // the later leader that has the report of it
  };

  mutable std::mutex mutex_;
  std::map<PartialPlace, Meeting> last_;  // guarded by mutex_
  std::map<PartialPlace, int> entering_;  // guarded by mutex_: unanswered entries
  std::deque<PartialPlace> added_;        // guarded by mutex_: those of last_, the first one first
};

}  // namespace troupe::detail
