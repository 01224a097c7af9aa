#include "messages/senders.h"

#include <fmt/format.h>

#include <type_traits>

namespace troupe::msg {
namespace {

using Lie = std::optional<std::string>;

template <class M, class... Ts>
inline constexpr bool is_any_of = (std::is_same_v<M, Ts> || ...);

template <class Id>
Lie unless_made_by(const NodeLife& from, const char* what, const Id& id) {
  if (id.creator == from.name && id.incarnation == from.incarnation.low) return std::nullopt;
  return fmt::format("{} {} is not of {}", what, id.text(), from.name);
}

Lie first_of(Lie one, Lie other) { return one ? std::move(one) : std::move(other); }

Lie new_value(const NodeLife& from, const RRefId& rref, const ForkId& fork) {
  return first_of(unless_made_by(from, "value", rref), unless_made_by(from, "handle", fork));
}

Lie for_itself(const NodeLife& from, const NodeName& name) {
  return name == from.name ? std::nullopt : Lie(fmt::format("{} does not speak for {}", from.name, name));
}

/// Whoever hands on a handle makes its fork's id, and is the parent that waits for it.
Lie handed_on_by(const NodeLife& from, const Payload& payload) {
  for (const RRefHandout& handout : payload.refs) {
    if (Lie lie = unless_made_by(from, "handle", handout.fork)) return lie;
    if (Lie lie = for_itself(from, handout.parent)) return lie;
  }
  return std::nullopt;
}

template <class M>
Lie lie_about_handles(const M& message, const NodeLife& from) {
  if constexpr (requires { message.arguments.refs; }) {
    return handed_on_by(from, message.arguments);
  } else if constexpr (requires { message.value.refs; }) {
    return handed_on_by(from, message.value);
  } else {
    return std::nullopt;
  }
}

/// The owner confirms a handle to its parent, which made the fork's id.
Lie fork_of_parent(const RRefForked& forked) {
  if (forked.fork.creator == forked.parent) return std::nullopt;
  return fmt::format("handle {} is not of {}", forked.fork.text(), forked.parent);
}

Lie root_of_pass(const BackwardMark& mark) {
  if (mark.root == mark.pass.creator) return std::nullopt;
  return fmt::format("pass {} is not of {}", mark.pass.text(), mark.root);
}

template <class Id>
Lie made_here(const NodeName& to, const char* what, const Id& id) {
  return id.creator == to ? std::nullopt : Lie(fmt::format("{} {} is not of {}", what, id.text(), to));
}

template <class M>
Lie lie_about_maker(const M& message, const NodeLife& from) {
  if constexpr (is_any_of<M, RemoteCall>) {
    return new_value(from, message.rref, message.fork);
  } else if constexpr (is_any_of<M, BackwardRun, BackwardRelease>) {
    return unless_made_by(from, "pass", message.pass);
  } else if constexpr (is_any_of<M, BarrierEntered, BarrierLeft>) {
    return unless_made_by(from, "entry", message.entry);
  } else if constexpr (requires { message.step; }) {
    return first_of(unless_made_by(from, "optimizer", message.optimizer), unless_made_by(from, "step", message.step));
  } else {
    return unless_made_by(from, "optimizer", message.optimizer);
  }
}

template <class M>
Lie lie_of(const M& message, const NodeLife& from, const NodeName& to) {
  if constexpr (M::kInfo.sender == Sender::maker) {
    return lie_about_maker(message, from);
  } else if constexpr (is_any_of<M, ValueCall>) {
    return message.keep_as ? new_value(from, message.keep_as->rref, message.keep_as->fork) : std::nullopt;
  } else if constexpr (is_any_of<M, RRefForked>) {
    return fork_of_parent(message);
  } else if constexpr (is_any_of<M, BackwardMark>) {
    return root_of_pass(message);
  } else if constexpr (is_any_of<M, BackwardGradients>) {
    return made_here(to, "boundary", message.boundary);
  } else if constexpr (is_any_of<M, BackwardFinished>) {
    return for_itself(from, message.participant);
  } else if constexpr (is_any_of<M, ContextEntered>) {
    return made_here(to, "context", message.context);
  } else if constexpr (M::kInfo.sender == Sender::itself) {
    if (NodeLife{message.node, message.incarnation} == from) return std::nullopt;
    return fmt::format("{} does not speak for {}", from.name, message.node);
  } else {
    return std::nullopt;
  }
}

}  // namespace

Lie lie_in(const AnyMessage& message, const NodeLife& from, const NodeName& to) {
  Lie lie;
  message.visit([&](const auto& each) { lie = first_of(lie_of(each, from, to), lie_about_handles(each, from)); });
  return lie;
}

}  // namespace troupe::msg
