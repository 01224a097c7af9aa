// Connects nodes within one process: frames are handed over, no byte is copied.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "actors/link.h"

namespace troupe {

/// Where the memory links of one local cluster find each other. Links may outlive it.
class MemoryHub {
 public:
  MemoryHub();
  ~MemoryHub();
  MemoryHub(const MemoryHub&) = delete;
  MemoryHub& operator=(const MemoryHub&) = delete;

 private:
  friend class MemoryLink;
  struct State;
  std::shared_ptr<State> state_;
};

/// The link of one node of a local cluster. Its address is "memory://<name>".
///
/// The sink is called on the thread that sends, connects, disconnects or stops, on any node of the hub: at most one
/// thread at a time per node. REQUIRES: the caller holds no lock (the sink is called with none held). A message that a
/// sink sends from within a call is delivered after that call, never inside it: the stack does not grow with the length
/// of a conversation.
class MemoryLink final : public Link {
 public:
  /// The name is free again after `stop`. A second live link of the same name reaches no peer: its connects fail with
  /// name_in_use.
  MemoryLink(MemoryHub& hub, NodeName name, Incarnation incarnation);
  ~MemoryLink() override;
  MemoryLink(const MemoryLink&) = delete;
  MemoryLink& operator=(const MemoryLink&) = delete;

  void start(LinkSink& sink) override;
  [[nodiscard]] std::string address() const override;
  [[nodiscard]] bool guards_bytes() const override { return true; }
  [[nodiscard]] bool shares_memory() const override { return true; }
  void connect(std::string_view address) override;
  void send(const NodeName& to, LinkLane lane, Frames packet) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override;

  /// Peers see peer_down. May be called within a call to the sink; that call is then the last.
  void stop() override;

 private:
  struct Endpoint;
  friend struct MemoryHub::State;

  std::shared_ptr<MemoryHub::State> hub_;
  std::shared_ptr<Endpoint> self_;
};

}  // namespace troupe
