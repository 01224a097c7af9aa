// The list of all messages that actors send each other across nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "messages/autograd.h"
#include "messages/membership.h"
#include "messages/message_info.h"
#include "messages/optim.h"
#include "messages/rpc.h"
#include "messages/rref.h"

namespace troupe::msg {

template <class... M>
struct MessageList {
  static constexpr std::size_t kCount = sizeof...(M);
  static constexpr std::size_t kSize = std::max({sizeof(M)...});
  static constexpr std::size_t kAlignment = std::max({alignof(M)...});

  template <class Wanted>
  [[nodiscard]] static constexpr bool has() {
    return (std::is_same_v<Wanted, M> || ...);
  }

  template <class Wanted>
  [[nodiscard]] static consteval std::size_t index_of() {
    static_assert(has<Wanted>(), "not a message");
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<Wanted, M> || (++index, false)) || ...));
    return index;
  }

  /// Calls `test(std::type_identity<M>)`, in their order, until it returns true. Returns whether it did.
  template <class Test>
  static constexpr bool any_of(Test&& test) {
    return (test(std::type_identity<M>{}) || ...);
  }
};

/// The messages. Their order does not travel: `kInfo.number` does.
using Messages = MessageList<                                                                //
    Call, RemoteCall, ValueCall, Reply, Failure, CallCancelled,                              //
    RRefFetch, RRefCreated, RRefForked, RRefDeleted, RRefForkAck, RRefRevoked, RRefChanged,  //
    BackwardMark, BackwardMarked, BackwardRun, BackwardGradients, BackwardFinished, ContextAborted, ContextReleased,
    ContextEntered, ShardCreate, ShardCreated, ShardPrepare, ShardPrepared, ShardCommit, ShardAbort, ShardStep,
    ShardStepped, ShardQuery, ShardOutcome, ShardReleased,  //
    MemberJoin, MemberList, MemberJoined, MemberLeft, ShutdownReady, ShutdownCount, ShutdownCounted, ShutdownAgreed,
    BarrierEntered, BarrierPassed, BarrierLeft, SignedListKnown, SignedListFetch, SignedList, SignedCertificate,  //
    AuditHead, BackwardRelease, BackwardReleased,                                                                 //
    ShardLoad, ShardSave, ShardSaved, ShardJoin, ShardWait, ShardReady>;

/// One of Messages, or none: at first, and once it was moved from. A std::variant of as many types costs every source
/// that moves one seconds of compiling; this one is moved, copied and destroyed in all.cc.
class AnyMessage {
 public:
  AnyMessage() noexcept : index_(kNone) {}
  template <class M>
    requires(Messages::has<M>())
  AnyMessage(M message) : index_(Messages::index_of<M>()) {
    ::new (static_cast<void*>(storage_)) M(std::move(message));
  }
  AnyMessage(const AnyMessage& other);
  AnyMessage(AnyMessage&& other) noexcept : index_(kNone) { take(other); }
  AnyMessage& operator=(const AnyMessage& other);
  AnyMessage& operator=(AnyMessage&& other) noexcept;
  ~AnyMessage() { reset(); }

  /// Holds a new M in the place of what it held.
  template <class M>
    requires(Messages::has<M>())
  M& emplace() {
    reset();
    M* const made = ::new (static_cast<void*>(storage_)) M();
    index_ = Messages::index_of<M>();
    return *made;
  }
  /// Holds none from now on.
  void reset() noexcept {
    if (index_ != kNone) destroy();
  }

  /// Returns the place of the held type in Messages; their number if there is none.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }

  template <class M>
  [[nodiscard]] bool holds() const noexcept {
    return index_ == Messages::index_of<M>();
  }

  /// Returns the message; null if it is not an M.
  template <class M>
  [[nodiscard]] M* get_if() noexcept {
    return holds<M>() ? std::launder(reinterpret_cast<M*>(storage_)) : nullptr;
  }
  template <class M>
  [[nodiscard]] const M* get_if() const noexcept {
    return holds<M>() ? std::launder(reinterpret_cast<const M*>(storage_)) : nullptr;
  }

  /// Returns the message. Throws std::logic_error if it is not an M.
  template <class M>
  [[nodiscard]] M& get() & {
    return holds<M>() ? *get_if<M>() : throw wrong_type(M::kInfo);
  }
  template <class M>
  [[nodiscard]] const M& get() const& {
    return holds<M>() ? *get_if<M>() : throw wrong_type(M::kInfo);
  }
  template <class M>
  [[nodiscard]] M&& get() && {
    return holds<M>() ? std::move(*get_if<M>()) : throw wrong_type(M::kInfo);
  }

  /// Calls `visitor` with a reference to the message as the type that it is; does nothing if that is not in `List`.
  /// REQUIRES: `visitor` takes every message of `List`.
  template <class List = Messages, class Visitor>
  void visit(Visitor&& visitor) {
    List::any_of([&]<class M>(std::type_identity<M>) {
      M* held = get_if<M>();
      return held != nullptr && (visitor(*held), true);
    });
  }
  template <class List = Messages, class Visitor>
  void visit(Visitor&& visitor) const {
    List::any_of([&]<class M>(std::type_identity<M>) {
      const M* held = get_if<M>();
      return held != nullptr && (visitor(*held), true);
    });
  }

 private:
  static constexpr std::size_t kNone = Messages::kCount;

  [[nodiscard]] std::logic_error wrong_type(const MessageInfo& wanted) const;
  void take(AnyMessage& other) noexcept;
  void destroy() noexcept;

  std::size_t index_;
  alignas(Messages::kAlignment) std::byte storage_[Messages::kSize];
};

/// Returns number, name and kind of the message that `message` holds. REQUIRES: it holds one.
[[nodiscard]] const MessageInfo& info_of(const AnyMessage& message);

/// Returns the description of the message with this number; null if it is unknown.
[[nodiscard]] const MessageInfo* find_info(MessageTag tag);

}  // namespace troupe::msg
