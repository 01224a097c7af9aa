// Where the members of a group wait for each other: the rules of the node at which they meet.
//
// Members enter with what they bring; when all are there, all are answered. Each operation of each set of members is a
// place of its own, where the n-th entry of one member meets the n-th of the others; so several threads may use one place
// and nothing has to be counted across lives. Rules MB-5 to MB-8 of PROTOCOLS.md.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
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

/// A plain class: one thread at a time; answers are told on it.
class Barriers {
 public:
  /// Told exactly once: who met, or why they did not.
  using Answer = std::function<void(Result<msg::BarrierPassed>)>;

  /// Entries of one member that left before they came, remembered at most; the oldest is forgotten first.
  static constexpr std::size_t kLeftMax = 256;

  explicit Barriers(NodeName self) : up_{std::move(self)} {}

  /// `member` has come. Its answer is told at once if it was the last, if one of the others is gone and they are not to
  /// meet without, or if it cannot wait.
  void enter(TimePoint now, const NodeName& member, msg::BarrierEntered entered, Answer answer);

  /// `member` gave its entry up. If it waits, it is told `cancelled`; if it has not come, it will be told so then.
  void left(const NodeName& member, const BarrierEntryId& entry);

  void came(const NodeName& peer);

  /// Its entries are void; whoever waits for it is told, or goes on without it.
  void gone(const NodeName& peer, const Error& why);

  /// Answers whoever has waited long enough.
  void expire(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  /// Answers everybody with `why`.
  void stop(const Error& why);

  /// Who waits for whom, at `now`; those who came first are first.
  [[nodiscard]] std::vector<OpenBarrier> open(TimePoint now) const;

  /// Entries that wait.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Place {  // see BarrierEntered
    std::string operation;
    std::vector<NodeName> members;
    NodeName receiver;
    bool without_dead = false;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Entry {
    BarrierEntryId id;
    msg::Contribution own;
    TimePoint came;
    std::optional<TimePoint> due;
    Answer answer;
  };
  using Entries = std::map<NodeName, std::deque<Entry>>;  // in order of arrival; nobody with none
  using Places = std::map<Place, Entries>;

  [[nodiscard]] std::optional<Error> obstacle(const Place& place) const;
  [[nodiscard]] Error absence(const NodeName& member) const;
  [[nodiscard]] static std::vector<NodeName> missing_at(const Place& place, const Entries& entries);
  [[nodiscard]] static Error late(const Place& place, const std::vector<NodeName>& absent, Duration waited);
  [[nodiscard]] bool all_there(const Place& place, const Entries& entries) const;
  [[nodiscard]] bool left_before(const NodeName& member, const BarrierEntryId& entry);
  void settle(Places::iterator at);

  std::set<NodeName> up_;
  std::map<NodeName, Error> gone_;  // why those who were up are not
  Places places_;
  std::map<NodeName, std::deque<BarrierEntryId>> left_;  // of who is up; the oldest first
};

}  // namespace troupe::detail
