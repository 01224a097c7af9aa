// A page of memory in which processes of one host see that a node lives: its heartbeats cost no system call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "actors/clock.h"
#include "messages/error.h"
#include "node/file_descriptor.h"
#include "node/links/shared_memory/segment.h"

namespace troupe {

/// What a page shows.
struct PulseShown {
  std::uint32_t count = 0;  ///< of heartbeats; begins anew after 2^32
  Duration interval{0};     ///< the next heartbeat follows within this time
};

/// The page of this node, which peers map and cannot write. Thread rule: one thread at a time.
class PulsePage {
 public:
  static constexpr std::size_t kBytes = 4096;

  /// Errors: resource_exhausted.
  [[nodiscard]] static Result<PulsePage> make();

  /// Shows one more heartbeat.
  void beat(Duration interval) noexcept;

  /// Of the page, for peers.
  [[nodiscard]] int descriptor() const { return segment_.file.get(); }

 private:
  explicit PulsePage(detail::Segment segment) : segment_(std::move(segment)) {}

  detail::Segment segment_;
  std::uint32_t count_ = 0;
};

/// The page of a peer, which may write anything to it. Thread-safe.
class PeerPulsePage {
 public:
  /// Errors: as detail::map_segment().
  [[nodiscard]] static Result<PeerPulsePage> map(const detail::FileDescriptor& file);

  [[nodiscard]] PulseShown read() const noexcept;

 private:
  explicit PeerPulsePage(std::shared_ptr<const detail::Mapping> memory) : memory_(std::move(memory)) {}

  std::shared_ptr<const detail::Mapping> memory_;
};

}  // namespace troupe
