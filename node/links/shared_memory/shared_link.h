// A link that uses memory that both processes map: large frames do not travel, and small packets take a ring.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/link.h"
#include "node/file_descriptor.h"
#include "node/keys/key_ring.h"
#include "node/links/line_allowance.h"
#include "node/links/pulse_thread.h"
#include "node/links/shared_memory/agreement.h"
#include "node/links/shared_memory/gpu_blocks.h"
#include "node/links/shared_memory/leases.h"
#include "node/links/shared_memory/ring_receiver.h"
#include "node/links/shared_memory/segment_inbox.h"
#include "node/links/shared_memory/segment_pool.h"
#include "node/links/shared_memory/shared_table.h"
#include "tensor/gpu_memory.h"

namespace troupe {

struct SharedLinkOptions {
  NodeName name = {};                ///< this node's, as its peers know it
  std::optional<KeyRing> keys = {};  ///< the link below has them: a ring ends when a key of either end is replaced
  bool shares = true;  ///< false: frames of this node travel; those that peers share with it are read all the same
  /// Of the link below, which is told of peers on this host: pages of heartbeats pass through this one. Null: with
  /// heartbeats.
  std::shared_ptr<PulseThread> pulse = {};
  std::string no_inbox = {};  ///< why this node has none: then neither side shares; empty: it has one
  std::size_t bytes_max = std::size_t{2} << 30;  ///< of this node's segments, and as much of its blocks on GPUs
  /// Segments that a peer is given at a time; tensors in others travel. A peer maps twice as many by default: it may
  /// hear late of those that have ended.
  std::size_t segments_max = detail::kLeasesMax / 2;
  /// Smaller frames travel, if those of a message are smaller together.
  std::size_t frame_bytes_min = std::size_t{64} << 10;
  std::size_t frame_bytes_max = std::size_t{4} << 20;  ///< of a frame that the link below carries
  bool rings = true;                                   ///< false: every packet takes the link below
  bool spins = true;  ///< threads that wait look at the rings for a moment before they sleep
  /// A packet in a ring waits so long for news that packets which took the link below have arrived before it; then
  /// that counts as lost, and packets may change places. So long, too, a thread sleeps whose bell was lost.
  std::chrono::milliseconds ring_patience{200};
  /// Two nodes that pass fewer packets need no ring.
  std::size_t packets_before_ring = 8;
  std::shared_ptr<const detail::GpuMemory> gpus = detail::cuda_memory();  ///< of this process
  std::string process{};  ///< as peers know it, which share no GPU memory with their own; empty: by its number
  Duration answer_patience = std::chrono::seconds{5};  ///< for a peer to take what it was offered
  /// Told why nothing is shared with a peer, once for each of its lives; any thread.
  std::function<void(std::string_view line)> log = {};
};

/// A link that shares memory with peers on this host, over another one, which carries all the rest. See README.md
/// beside this file.
///
/// Frames that the receiver was given stay unchanged while they live there: a block is used again when the last lease
/// of it was given back, or when the process that held it has ended. Thread rule: as Link.
class SharedLink final : public Link, private LinkSink {
 public:
  /// `inner` guards bytes; it may have peers on other hosts. Errors: resource_exhausted.
  [[nodiscard]] static Result<std::unique_ptr<SharedLink>> over(std::unique_ptr<Link> inner, SharedLinkOptions options);

  ~SharedLink() override;
  SharedLink(const SharedLink&) = delete;
  SharedLink& operator=(const SharedLink&) = delete;

  void start(LinkSink& sink) override;
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  [[nodiscard]] bool guards_bytes() const override { return inner_->guards_bytes(); }
  std::optional<Incarnation> share(const NodeName& to, Frames& frames) override;
  void connect(std::string_view address) override { inner_->connect(address); }
  void connect_to(const NodeName& name, std::string_view address) override { inner_->connect_to(name, address); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override { inner_->disconnect(peer, farewell); }
  void stop() override;

  [[nodiscard]] std::shared_ptr<detail::WaitingWork> receiving() const override { return receiver_; }

  [[nodiscard]] std::optional<SharedMemoryUse> shared_memory() const override;
  [[nodiscard]] std::optional<StreamUse> streams() const override { return inner_->streams(); }
  [[nodiscard]] std::map<NodeName, PeerTransport> transports() const override;

  void release_unused(TimePoint now, Duration idle) override;

 private:
  /// The ring's way to this link, which it may outlive.
  struct KeysWatch {
    std::mutex mutex;
    SharedLink* link = nullptr;  ///< guarded by mutex; null once the link has stopped
  };
  struct Other;
  struct OtherGpus;
  struct TheirSegment;
  struct TheirMemory;
  class GpuLease;
  struct Sent;
  class Copy;
  using SharedOther = std::shared_ptr<Other>;
  /// Memory of a GPU that a peer may have open.
  struct MaybeOpen {
    std::shared_ptr<const detail::GpuAllocation> memory;
    detail::Agreement end{};  ///< asked: the peer was told that it has ended
  };
  /// The leases of a peer that went down. Until it has let their page go it may still read their blocks.
  struct Orphans {
    std::shared_ptr<detail::LeaseTable> leases;
    detail::FileDescriptor process;
    std::map<std::uint32_t, MaybeOpen> blocks;
  };

  SharedLink(std::unique_ptr<Link> inner, detail::SegmentInbox inbox, SharedLinkOptions options);

  void on_link_up(const Peer& peer) override;
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override;
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override;
  void on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) override;
  void on_link_failed(const Error& why) override;
  void on_connect_failed(std::string_view address, const Error& why) override;

  [[nodiscard]] SharedOther find(const NodeName& peer) const;
  [[nodiscard]] std::vector<SharedOther> all() const;
  void transmit(const NodeName& to, LinkLane lane, Frames packet);
  [[nodiscard]] bool put(Other& to, const Frames& packet);
  void say(const Other& to, const detail::SharedControl& control);
  void obey(Other& from, const detail::SharedControl& control);
  enum class Wants : std::uint8_t { nothing, hello };
  void say_hello(const Other& to, Wants wants = Wants::nothing);
  void make_offer(Other& to, const detail::SharedControl& hello);
  void take_offer(Other& from);
  /// Says again what the peer has not answered for long.
  void ask_again(Other& peer);
  void give_page(Other& to);
  void meet_pulse(Other& peer);
  /// On the pulse's thread.
  void give_pulse_page(const NodeName& to, const std::string& inbox, const detail::InboxToken& shown, int page);
  void follow_keys();
  struct Keys {
    std::optional<PublicKey> own;
    std::optional<PublicKey> its;
    friend bool operator==(const Keys&, const Keys&) = default;
  };
  /// Returns the present keys of both ends.
  [[nodiscard]] Keys keys_with(const NodeName& peer) const;
  /// After SegmentInbox::send, which was not done for `agreement`.
  void not_taken(Other& peer, detail::Agreement& agreement, detail::SegmentInbox::Sent sent) const;
  void offer_ring(Other& to);
  [[nodiscard]] bool is_ring_to_be_offered_again(Other& to) const;
  void read_ring(Other& from);
  void read_no_longer(Other& peer);
  void end_ring(const NodeName& peer);
  /// Takes what lies in the inbox; what it has no memory for is lost.
  void take_inbox();
  void take(const detail::HandedOver& what);
  [[nodiscard]] std::optional<Frames> with_shared(Other& from, Frames packet);
  [[nodiscard]] std::optional<Frame> shared_frame(Other& from, const detail::SharedEntry& entry);
  /// `segment`: null if it could not be mapped. REQUIRES: `from.mutex` is held; `from.page`.
  [[nodiscard]] static std::optional<Frame> frame_in(Other& from, const detail::SharedEntry& entry,
                                                     const std::shared_ptr<const detail::Mapping>& segment);
  [[nodiscard]] std::optional<Frame> own_frame(Other& from, const detail::SharedEntry& entry) const;
  using BlocksToCome = std::map<std::size_t, std::size_t>;  // by size of block
  /// Returns how many blocks the tensors of one message take at most; nothing if they are few.
  [[nodiscard]] BlocksToCome blocks_to_come(std::span<const Frame> tensors) const;
  void share_one(Other& to, Frame& frame, std::size_t alike);
  void share_small(Other& to, std::span<Frame> tensors);
  void share_on_gpu(Other& to, Frame& frame);
  /// Returns whether tensors of GPU `gpu` can be shared with the peer. Offers it first, and again while the
  /// peer has not answered: either may be lost.
  [[nodiscard]] bool can_share(Other& to, int gpu);
  [[nodiscard]] std::string offer_text(const std::string& uuid) const;
  void consider_offer(Other& from, const detail::SharedControl& offer);
  /// Accepts the offers of GPUs that this process uses by now; others stay.
  void accept_offers(Other& from);
  void obey_about_gpus(Other& from, const detail::SharedControl& control);
  /// The lease has no bytes if the block is not open, and `opens` is false or it cannot be opened. REQUIRES:
  /// `from.mutex` is held; `from.page`.
  [[nodiscard]] std::shared_ptr<const GpuLease> gpu_lease(Other& from, int gpu, const detail::SharedEntry& entry,
                                                          bool opens);
  [[nodiscard]] std::optional<Frame> gpu_frame(Other& from, const detail::SharedEntry& entry);
  /// Says again what a peer has not answered for long: the news of an end, or the answer to it, may be lost.
  void tell_of_ended_blocks(const std::vector<SharedOther>& others);
  std::span<const std::byte> copied(const Frame& frame, std::span<std::byte> to);
  [[nodiscard]] std::shared_ptr<const Copy> copy_of(const Frame& frame) const;
  void keep_copy(const Frame& frame, const std::shared_ptr<detail::Block>& block);
  /// Gives the peer the block's segment, unless it has it. Returns false if it cannot be given now.
  [[nodiscard]] bool introduce(Other& to, const detail::Block& block);
  /// REQUIRES: `to.mutex` is held.
  [[nodiscard]] bool introduce_locked(Other& to, const detail::Block& block);
  /// Puts a segment into the peer's inbox, unless the peer has it. Returns false if that is full, or the peer has too
  /// many. REQUIRES: to.mutex; a block of it is in use.
  [[nodiscard]] bool hand_over_locked(Other& to, std::uint32_t segment);
  /// Returns whether the memory of `sent` was leased to this life of a peer, null: to none. Hands its segment over
  /// again if that did not come.
  [[nodiscard]] bool is_leased_to(const SharedOther& to, const Sent& sent);
  /// Makes a frame that was leased to another life of the peer one whose bytes travel; one that is too large for that
  /// is leased to `to`. Returns false if it cannot: then the packet counts as lost, and the session sends it again.
  [[nodiscard]] bool renew(const SharedOther& to, Frame& frame);
  /// Makes a leased frame one whose bytes travel. Returns false if there is no memory for those of a GPU, or it does
  /// not give them: then the packet counts as lost.
  [[nodiscard]] bool leave_lease(Frame& frame) const;
  /// Makes `frame` a leased one of `bytes`, a part of `block`; returns false, and changes nothing, if it cannot.
  bool lease(Other& to, Frame& frame, const std::shared_ptr<detail::Block>& block, std::span<const std::byte> bytes);
  /// Ends the leases that peers have given back; tells peers which segments have ended. Of others than `to` seldom.
  void tidy(Other& to);
  void tidy();
  [[nodiscard]] TheirMemory abandon(Other& peer);
  /// As before the peer's hello.
  void begin(Other& peer) const;
  /// Takes `peer.mutex`.
  static void fail(Other& peer, detail::Agreement& agreement, std::string why);
  /// Logs what does not come about with the peer, if that is news.
  void tell_of_failures(Other& peer);
  void refuse() { refused_.fetch_add(1, std::memory_order_relaxed); }

  const SharedLinkOptions options_;
  const std::unique_ptr<Link> inner_;
  const bool all_are_here_;     ///< peers of inner_ run on this host: one without an inbox is a failure
  detail::SegmentInbox inbox_;  ///< any thread sends
  std::mutex inbox_mutex_;      ///< held while datagrams are taken from inbox_ and obeyed
  const std::shared_ptr<detail::SegmentPool> pool_;
  const std::shared_ptr<detail::GpuBlockPool> gpu_pool_;
  const std::shared_ptr<std::atomic<std::size_t>> kept_bytes_;  ///< of copies that stay with their tensors
  LinkSink* sink_ = nullptr;                                    ///< set by start
  const std::shared_ptr<KeysWatch> keys_watch_ = std::make_shared<KeysWatch>();
  /// Held while what a peer says of shared memory is obeyed, which may come on two threads of the links below, and
  /// while its end is. Nothing that is waited for meanwhile takes it.
  std::mutex obeying_;

  mutable std::mutex mutex_;
  std::map<NodeName, SharedOther> others_;           ///< guarded by mutex_
  std::vector<Orphans> orphans_;                     ///< guarded by mutex_
  std::chrono::steady_clock::time_point next_tidy_;  ///< guarded by mutex_
  LineAllowance lines_;                              ///< guarded by mutex_

  std::atomic<std::uint64_t> frames_shared_ = 0;
  std::atomic<std::uint64_t> bytes_copied_ = 0;
  std::atomic<std::uint64_t> bytes_avoided_ = 0;
  std::atomic<std::uint64_t> ring_packets_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;

  const std::shared_ptr<detail::RingReceiver> receiver_;
};

}  // namespace troupe
