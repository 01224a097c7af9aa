// All ids that travel, each with its own type: a ForkId never passes for an RRefId.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace troupe {

/// A node's name: 1 to 127 of A-Z a-z 0-9 - _ : . unique among the nodes that are up.
using NodeName = std::string;

/// One life of a node; 128 random bits, drawn at start.
struct Incarnation {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const Incarnation&, const Incarnation&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(high, low);
  }
};

/// One life of a node. A restarted node has the same name and another incarnation: tables that must not confuse the
/// two have this as their key.
struct NodeLife {
  NodeName name;
  Incarnation incarnation;
  friend auto operator<=>(const NodeLife&, const NodeLife&) = default;
};

namespace detail {
/// A serial number made by the node `creator`; unique over the cluster's life because it includes the incarnation.
template <class Tag>
struct SerialId {
  NodeName creator;
  std::uint64_t incarnation = 0;  ///< low half of the creator's incarnation
  std::uint64_t serial = 0;
  friend auto operator<=>(const SerialId&, const SerialId&) = default;
  /// "trainer.17"
  [[nodiscard]] std::string text() const { return creator + "." + std::to_string(serial); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(creator, incarnation, serial);
  }
};
}  // namespace detail

/// 128 bits that make an id unguessable: only the node that made the id can derive them (actors/core/id_secrets.h), and
/// only nodes that were given the id know them. Never shown, never logged.
struct IdSecret {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const IdSecret&, const IdSecret&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(high, low);
  }
};

namespace detail {
/// An id that is a capability: a node that knows the id may use the object that it names, and no node can guess it. An
/// id with another secret is another id, of an object that does not exist. So the code needs no separate check of
/// secrets, which could be forgotten. Comparing takes two words, and its time reveals nothing about one word of 64
/// random bits.
template <class Tag>
struct CapabilityId {
  NodeName creator;
  std::uint64_t incarnation = 0;  ///< low half of the creator's incarnation
  std::uint64_t serial = 0;
  IdSecret secret = {};
  friend auto operator<=>(const CapabilityId&, const CapabilityId&) = default;
  /// "trainer.17": without the secret
  [[nodiscard]] std::string text() const { return creator + "." + std::to_string(serial); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(creator, incarnation, serial, secret);
  }
};
}  // namespace detail

using RRefId = detail::CapabilityId<struct RRefTag>;            ///< a value that some node owns
using ContextId = detail::CapabilityId<struct ContextTag>;      ///< one distributed forward + backward pass
using OptimizerId = detail::CapabilityId<struct OptimizerTag>;  ///< a trainer's optimizer and its shards

using ForkId = detail::SerialId<struct ForkTag>;                  ///< one user handle of a value
using BoundaryId = detail::SerialId<struct BoundaryTag>;          ///< one SendFn / RecvFn pair
using PassId = detail::SerialId<struct PassTag>;                  ///< one backward pass over a context
using StepId = detail::SerialId<struct StepTag>;                  ///< one optimizer step; repeated delivery is ignored
using BarrierEntryId = detail::SerialId<struct BarrierEntryTag>;  ///< one entry of one member at a barrier

/// Matches a reply to its request. Chosen by the requester; only the requester interprets it. 0: no reply expected.
struct RequestId {
  std::uint64_t value = 0;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

/// Identifies a registered function: hash of its identity (type, and address bytes within one binary) or of its name.
struct FunctionKey {
  std::uint64_t value = 0;
  friend auto operator<=>(const FunctionKey&, const FunctionKey&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

/// Structural hash of a function's wire types, in order; compared on the callee before anything is decoded.
struct Fingerprint {
  std::uint64_t value = 0;
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

}  // namespace troupe

template <class Tag>
struct std::hash<troupe::detail::SerialId<Tag>> {
  std::size_t operator()(const troupe::detail::SerialId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.creator) ^ (id.serial * 0x9E3779B97F4A7C15U) ^ id.incarnation;
  }
};

template <class Tag>
struct std::hash<troupe::detail::CapabilityId<Tag>> {
  std::size_t operator()(const troupe::detail::CapabilityId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.creator) ^ (id.serial * 0x9E3779B97F4A7C15U) ^ id.incarnation ^ id.secret.low;
  }
};
