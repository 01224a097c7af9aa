// Where the members of a group wait for each other: the rules of the node at which they meet (the leader).
//
// Members enter with their contributions; when all have entered, all are answered. Each operation of each set of
// members is a separate place, where the n-th entry of one member meets the n-th of the others. So several threads may
// use one place, and no counts outlive a member's life. Rules MB-5 to MB-8 and QU-6 of PROTOCOLS.md.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/core/reports.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "messages/membership.h"

namespace troupe::detail {

/// A plain class: one thread at a time, which also calls the answers.
class Barriers {
 public:
  /// Called exactly once, with the members that met or with the Error.
  using Answer = std::function<void(Result<msg::BarrierPassed>)>;

  /// The most early cancellations of entries kept per member; the oldest is forgotten first.
  static constexpr std::size_t kLeftMax = 256;

  /// The most entries of one member that wait at one time, and the most bytes of what they bring. An only entry may
  /// bring more.
  static constexpr std::size_t kEntriesMax = 4'096;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 30;

  /// The most members of one place: each that is absent costs an Error.
  static constexpr std::size_t kMembersMax = 16'384;

  /// The most former peers of which the reason of their end is kept. Who waits for one that is forgotten is told that
  /// no node of that name is in the cluster.
  static constexpr std::size_t kGoneMax = 4'096;

  explicit Barriers(NodeName self) : up_{std::move(self)} {}

  /// `member` enters. `answer` is called at once if the other members wait already, if another member is gone and may
  /// not be left out, or if the entry cannot wait: as many entries of `member` wait as may (QU-6). `answer` is null if
  /// the member has no request open, but only says that this entry has met at a leader that is gone (MB-18). Such an
  /// entry meets others as any entry does, and is no open barrier. Returns when expire() may be due for this entry;
  /// nullopt: never.
  std::optional<TimePoint> enter(TimePoint now, const NodeName& member, msg::BarrierEntered entered, Answer answer);

  /// `member` cancels its entry: fails it with `cancelled`, now or, if it has not arrived, on arrival.
  void left(const NodeName& member, const BarrierEntryId& entry);

  /// `peer` is up, perhaps again: others that enter with it wait for its entries.
  void came(const NodeName& peer);

  /// `peer` is gone: drops its entries. Waiting members fail with `why`, or continue without it.
  void gone(const NodeName& peer, const Error& why);

  /// Fails the entries whose time limit has passed.
  void expire(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  /// Fails all entries with `why`.
  void stop(const Error& why);

  /// Returns the open barriers at `now`, the oldest first.
  [[nodiscard]] std::vector<OpenBarrier> open(TimePoint now) const;

  /// Returns the number of waiting entries.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Place {  // see BarrierEntered
    std::string operation;
    std::vector<NodeName> members;
    NodeName receiver;
    bool without_dead = false;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  /// The number and the bytes of the waiting entries of one member.
  struct Held {
    std::size_t entries = 0;
    std::size_t bytes = 0;
  };
  /// Counts one entry as long as it lives.
  class Counted {
   public:
    Counted(std::shared_ptr<Held> held, std::size_t bytes);
    Counted(Counted&&) = default;
    Counted& operator=(Counted&& other) noexcept;
    ~Counted();

   private:
    std::shared_ptr<Held> held_;
    std::size_t bytes_ = 0;
  };
  struct Entry {
    BarrierEntryId id;
    msg::Contribution own;
    TimePoint came;
    std::optional<TimePoint> due;
    Answer answer;
    bool is_word = false;
    Counted counted;
  };
  using Entries = std::map<NodeName, std::deque<Entry>>;  // in order of arrival; no list is empty
  struct Meeting {
    Entries entries;
    std::size_t awaited = 0;  // of Place::members: the first that was up and had no entry when all_there() last looked
  };
  using Places = std::map<Place, Meeting>;

  [[nodiscard]] std::optional<Error> obstacle(const Place& place) const;
  /// Counts one more entry of `member`. Error: resource_exhausted, `ran: never`.
  [[nodiscard]] Result<Counted> count(const NodeName& member, std::size_t bytes);
  [[nodiscard]] Error absence(const NodeName& member) const;
  [[nodiscard]] static std::vector<NodeName> missing_at(const Place& place, const Entries& entries);
  [[nodiscard]] static Error late(const Place& place, const std::vector<NodeName>& absent, Duration waited);
  [[nodiscard]] bool all_there(const Place& place, Meeting& meeting) const;
  [[nodiscard]] bool left_before(const NodeName& member, const BarrierEntryId& entry);
  void settle(Places::iterator at);

  struct Gone {
    Error why;
    std::list<NodeName>::iterator place;
  };

  std::set<NodeName> up_;
  std::map<NodeName, Gone> gone_;                 // former peers
  std::list<NodeName> gone_in_order_;             // whose end was first is first; at most kGoneMax
  std::map<NodeName, std::weak_ptr<Held>> held_;  // of members that have entries, and of some that had
  Places places_;
  std::map<NodeName, std::deque<BarrierEntryId>> left_;  // of peers that are up; the oldest first
};

}  // namespace troupe::detail
