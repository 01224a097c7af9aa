#include "node/links/shared_memory/shared_link.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <span>

#include "node/links/shared_memory/shared_link_parts.h"
#include "tensor/storage.h"

namespace troupe {

using detail::HandedOver;
using detail::HandOver;
using detail::Lease;
using detail::SharedControl;
using detail::SharedEntry;

namespace {

constexpr std::chrono::milliseconds kTidyInterval{100};

constexpr std::size_t kManyTensors = 8;   // an inbox has room for about as many segments
constexpr std::size_t kHeaderFrames = 2;  // of a message: its header and its body, which are read more than once

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

bool is_leased(const Frame& frame) { return frame.memory == FrameMemory::leased; }

bool has_ended(const detail::FileDescriptor& process) {
  pollfd one{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) == 1;
}

}  // namespace

Result<std::unique_ptr<SharedLink>> SharedLink::over(std::unique_ptr<Link> inner, SharedLinkOptions options) {
  const auto with = [&](detail::SegmentInbox inbox) {
    return std::unique_ptr<SharedLink>(new SharedLink(std::move(inner), std::move(inbox), std::move(options)));
  };
  if (!options.no_inbox.empty()) return with(detail::SegmentInbox::none());
  auto inbox = detail::SegmentInbox::open_beside(inner->address());
  if (inbox) return with(std::move(inbox).value());
  if (inner->address().starts_with("ipc://")) return inbox.error();
  options.no_inbox = inbox.error().message;  // a network works without
  if (options.log) options.log("shares no memory: " + options.no_inbox);
  return with(detail::SegmentInbox::none());
}

SharedLink::SharedLink(std::unique_ptr<Link> inner, detail::SegmentInbox inbox, SharedLinkOptions options)
    : options_(options),
      inner_(std::move(inner)),
      all_are_here_(inner_->address().starts_with("ipc://")),
      inbox_(std::move(inbox)),
      pool_(std::make_shared<detail::SegmentPool>(options.bytes_max)),
      gpu_pool_(std::make_shared<detail::GpuBlockPool>(options.gpus, options.bytes_max)),
      kept_bytes_(std::make_shared<std::atomic<std::size_t>>(0)),
      receiver_(std::make_shared<detail::RingReceiver>(
          detail::RingReceiver::Callbacks{.packet =
                                              [this](const NodeName& from, Incarnation incarnation, Frames packet) {
                                                // What changes rings waits for this thread: it never comes through one.
                                                if (detail::is_shared_control(packet)) return refuse();
                                                on_frames(from, incarnation, std::move(packet));
                                              },
                                          .lost = [this] { refuse(); },
                                          .broken = [this](const NodeName& from) { end_ring(from); },
                                          .failed = [this](const Error& why) { sink_->on_link_failed(why); }},
          detail::RingReceiver::Options{.sleep_max = options.ring_patience, .spins = options.spins})) {}

SharedLink::~SharedLink() { stop(); }

void SharedLink::start(LinkSink& sink) {
  sink_ = &sink;
  if (options_.keys) {
    keys_watch_->link = this;
    options_.keys->on_change(keys_watch_, [watch = keys_watch_.get()] {
      const std::lock_guard lock(watch->mutex);  // stop() waits; what is called waits for nobody
      if (watch->link != nullptr) watch->link->follow_keys();
    });
  }
  inner_->start(*this);
}

void SharedLink::stop() {
  {
    const std::lock_guard lock(keys_watch_->mutex);
    keys_watch_->link = nullptr;
  }
  inner_->stop();
  receiver_->stop();
  std::map<NodeName, SharedOther> others;  // end without the lock: so does memory of GPUs, which may take long
  std::vector<Orphans> orphans;
  const std::lock_guard lock(mutex_);
  others.swap(others_);
  orphans.swap(orphans_);
}

SharedLink::SharedOther SharedLink::find(const NodeName& peer) const {
  const std::lock_guard lock(mutex_);
  const auto found = others_.find(peer);
  return found == others_.end() ? nullptr : found->second;
}

std::vector<SharedLink::SharedOther> SharedLink::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<SharedOther> others;
  for (const auto& [name, other] : others_) others.push_back(other);
  return others;
}

std::optional<Incarnation> SharedLink::share(const NodeName& to, Frames& frames) {
  const SharedOther other = options_.shares ? find(to) : nullptr;
  if (!other) return std::nullopt;
  bool can_share = false;
  {
    const std::lock_guard lock(other->mutex);
    can_share = other->process.is_open();
  }
  if (!can_share) {
    ask_again(*other);
    tell_of_failures(*other);
    return std::nullopt;
  }
  tidy(*other);
  // The receiver takes no header and no body from memory that its sender can write.
  const std::span<Frame> tensors = std::span(frames).subspan(std::min(frames.size(), kHeaderFrames));
  BlocksToCome to_come = blocks_to_come(tensors);
  std::size_t left = 0;
  for (const Frame& frame : std::span(frames).first(frames.size() - tensors.size())) left += frame.bytes.size();
  for (Frame& frame : tensors) {
    if (frame.device != Device::cpu()) {
      if (frame.bytes.size() >= options_.frame_bytes_min) share_on_gpu(*other, frame);
      continue;
    }
    if (frame.bytes.size() >= options_.frame_bytes_min) {
      const auto alike = to_come.find(detail::SegmentPool::block_size(frame.bytes.size()));
      share_one(*other, frame, alike == to_come.end() ? 1 : alike->second--);
    }
    if (frame.memory != FrameMemory::leased) left += frame.bytes.size();
  }
  if (left >= options_.frame_bytes_min) share_small(*other, tensors);
  const bool one_travels = std::ranges::any_of(tensors, [this](const Frame& frame) {
    return !is_leased(frame) && frame.device == Device::cpu() && frame.bytes.size() >= options_.frame_bytes_min;
  });
  const bool one_is_shared = std::ranges::any_of(tensors, is_leased);
  bool inbox_is_full = false;
  {
    const std::lock_guard lock(other->mutex);
    inbox_is_full = std::exchange(other->inbox_is_full, false);
    if (one_travels && !inbox_is_full && other->process.is_open())
      other->to_fit.failed("no block of node.shared_memory_max, or no lease, was free");
    else if (one_is_shared && !one_travels) other->to_fit.reached();
  }
  // This message travels; the next one finds room.
  if (inbox_is_full) say(*other, {.kind = SharedControl::Kind::inbox_full, .inbox = {}});
  if (one_travels) tell_of_failures(*other);
  return one_is_shared ? std::optional(other->peer.incarnation) : std::nullopt;
}

SharedLink::BlocksToCome SharedLink::blocks_to_come(std::span<const Frame> tensors) const {
  BlocksToCome blocks;
  if (tensors.size() < kManyTensors) return blocks;
  for (const Frame& frame : tensors) {
    if (frame.device == Device::cpu() && frame.bytes.size() >= options_.frame_bytes_min)
      ++blocks[detail::SegmentPool::block_size(frame.bytes.size())];
  }
  return blocks;
}

void SharedLink::share_one(Other& to, Frame& frame, std::size_t alike) {
  {
    Frame former;  // outlives the lock: its owner may be anything
    const std::lock_guard lock(to.mutex);
    if (const auto lease = to.lease_over(frame.bytes)) {
      const SharedEntry entry{
          .frame = 0,
          .memory = SharedEntry::Memory::receivers,
          .segment = 0,
          .lease = lease->id(),
          .offset = static_cast<std::uint64_t>(frame.bytes.data() - lease->segment()->bytes().data()),
          .bytes = frame.bytes.size()};
      former = std::exchange(frame, {frame.bytes, std::make_shared<const Sent>(entry, lease), FrameMemory::leased});
      bytes_avoided_.fetch_add(entry.bytes, std::memory_order_relaxed);
      frames_shared_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  const std::size_t size = frame.bytes.size();
  if (const auto block = pool_->find(frame.bytes)) {
    if (lease(to, frame, block, frame.bytes)) bytes_avoided_.fetch_add(size, std::memory_order_relaxed);
  } else if (const auto copy = copy_of(frame)) {
    if (lease(to, frame, copy->block(), copy->block()->bytes().first(size)))
      bytes_avoided_.fetch_add(size, std::memory_order_relaxed);
  } else if (const auto fresh = pool_->take(size, alike); fresh && introduce(to, *fresh)) {
    const auto bytes = copied(frame, fresh->bytes());
    keep_copy(frame, fresh);
    lease(to, frame, fresh, bytes);
  }
}

std::shared_ptr<const SharedLink::Copy> SharedLink::copy_of(const Frame& frame) const {
  if (frame.derived == nullptr) return nullptr;
  auto copy = std::dynamic_pointer_cast<const Copy>(frame.derived->get());
  return copy && copy->is_of(pool_.get(), frame.bytes) ? copy : nullptr;
}

void SharedLink::keep_copy(const Frame& frame, const std::shared_ptr<detail::Block>& block) {
  // Kept copies must leave room for tensors that are sent once.
  const bool has_room = kept_bytes_->load(std::memory_order_relaxed) + frame.bytes.size() <= options_.bytes_max / 4;
  if (frame.derived != nullptr && has_room)
    frame.derived->set(std::make_shared<const Copy>(pool_.get(), frame.bytes, block, kept_bytes_));
}

// Small tensors of one message take one block together: what is left to travel then fits into one packet.
void SharedLink::share_small(Other& to, std::span<Frame> tensors) {
  std::size_t bytes = 0;
  const auto travels = [](const Frame& frame) {
    return frame.memory != FrameMemory::leased && !frame.bytes.empty() && frame.device == Device::cpu();
  };
  for (const Frame& frame : tensors) bytes += travels(frame) ? aligned(frame.bytes.size()) : 0;
  const auto block = bytes == 0 ? nullptr : pool_->take(bytes);
  if (!block || !introduce(to, *block)) return;
  std::span<std::byte> room = block->bytes();
  for (Frame& frame : tensors) {
    if (!travels(frame)) continue;
    const std::size_t size = aligned(frame.bytes.size());
    lease(to, frame, block, copied(frame, room));
    room = room.subspan(size);
  }
}

std::span<const std::byte> SharedLink::copied(const Frame& frame, std::span<std::byte> to) {
  std::memcpy(to.data(), frame.bytes.data(), frame.bytes.size());
  bytes_copied_.fetch_add(frame.bytes.size(), std::memory_order_relaxed);
  return to.first(frame.bytes.size());
}

bool SharedLink::introduce(Other& to, const detail::Block& block) {
  const std::lock_guard lock(to.mutex);
  return introduce_locked(to, block);
}

bool SharedLink::introduce_locked(Other& to, const detail::Block& block) {
  if (!to.process.is_open()) return false;  // it has gone meanwhile
  return hand_over_locked(to, block.segment());
}

bool SharedLink::hand_over_locked(Other& to, std::uint32_t segment) {
  const auto known = to.introduced.find(segment);
  if (known == to.introduced.end() && to.introduced.size() >= options_.segments_max) return false;
  const auto [place, is_new] = to.introduced.try_emplace(segment, false);
  if (place->second) return true;
  const auto shared = pool_->segment(segment);
  const HandedOver memory{
      .kind = HandOver::segment, .token = to.shown_to_it, .segment = segment, .bytes = shared.bytes, .file = {}};
  place->second = inbox_.send(to.inbox, memory, shared.descriptor) == detail::SegmentInbox::Sent::done;
  if (place->second) return true;
  if (is_new) to.introduced.erase(place);
  to.inbox_is_full = true;
  return false;
}

bool SharedLink::is_leased_to(const SharedOther& to, const Sent& sent) {
  if (!to) return false;
  const std::lock_guard lock(to->mutex);
  if (sent.entry.memory == SharedEntry::Memory::receivers)
    return static_cast<const Lease*>(sent.memory.get())->page() == to->page.get();
  if (to->leases != sent.leases) return false;
  if (sent.entry.memory == SharedEntry::Memory::gpu) return true;
  static_cast<void>(hand_over_locked(*to, sent.entry.segment));  // else the peer asks for it
  return true;
}

bool SharedLink::lease(Other& to, Frame& frame, const std::shared_ptr<detail::Block>& block,
                       std::span<const std::byte> bytes) {
  Frame former;  // outlives the lock: its owner may be anything
  const std::lock_guard lock(to.mutex);
  if (!introduce_locked(to, *block)) return false;
  const SharedEntry entry{.frame = 0,
                          .memory = SharedEntry::Memory::senders,
                          .segment = block->segment(),
                          .lease = {},
                          .offset = block->offset_of(bytes),
                          .bytes = bytes.size()};
  auto sent = std::make_shared<Sent>(entry, block);
  const auto id = to.leases->open(block);  // from here on nothing needs memory, and no lease is lost
  if (!id) return false;
  sent->take(*id, to.leases);
  former = std::exchange(frame, {bytes, std::move(sent), FrameMemory::leased});
  frames_shared_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void SharedLink::send(const NodeName& to, LinkLane lane, Frames packet) {
  if (std::ranges::none_of(packet, is_leased)) return transmit(to, lane, std::move(packet));
  const SharedOther other = find(to);
  std::vector<SharedEntry> entries;
  for (std::size_t i = 0; i < packet.size(); ++i) {
    if (!is_leased(packet[i])) continue;
    if (!is_leased_to(other, *static_cast<const Sent*>(packet[i].owner.get()))) {  // packed for an earlier life
      if (!renew(other, packet[i])) return;
      if (!is_leased(packet[i])) continue;
    }
    const auto& sent = *static_cast<const Sent*>(packet[i].owner.get());
    if (sent.leases) sent.leases->told(sent.entry.lease);
    entries.push_back(sent.entry);
    entries.back().frame = static_cast<std::uint32_t>(i);
  }
  if (entries.empty()) return transmit(to, lane, std::move(packet));
  Frames travelling{detail::encode(entries)};
  for (Frame& frame : packet) {
    if (!is_leased(frame)) travelling.push_back(std::move(frame));
  }
  transmit(to, lane, std::move(travelling));
}

bool SharedLink::renew(const SharedOther& to, Frame& frame) {
  const auto sent = std::static_pointer_cast<const Sent>(frame.owner);
  {
    const std::lock_guard lock(mutex_);
    if (is_leased(sent->renewed)) frame = sent->renewed;
  }
  if (frame.owner != sent && is_leased_to(to, *static_cast<const Sent*>(frame.owner.get()))) return true;
  if (!leave_lease(frame)) return false;
  if (frame.bytes.size() <= options_.frame_bytes_max) return true;
  if (to) share_one(*to, frame, 1);
  if (!is_leased(frame)) return false;  // the peer has not said yet that it is ready
  const std::lock_guard lock(mutex_);
  sent->renewed = frame;
  return true;
}

void SharedLink::transmit(const NodeName& to, LinkLane lane, Frames packet) {
  const SharedOther other = options_.rings && lane == LinkLane::express ? find(to) : nullptr;
  if (!other || !put(*other, packet)) inner_->send(to, lane, std::move(packet));
}

// Returns false if the packet must take the link below.
bool SharedLink::put(Other& to, const Frames& packet) {
  using detail::OutRing;
  OutRing::Put put = to.ring.put(packet);
  while (put == OutRing::Put::begins) {
    say(to, {.kind = SharedControl::Kind::ring_begins, .number = to.ring.run(), .inbox = {}});
    put = to.ring.put(packet);
  }
  switch (put) {
    case OutRing::Put::done: ring_packets_.fetch_add(1, std::memory_order_relaxed); return true;
    case OutRing::Put::broken: end_ring(to.peer.name); return false;
    case OutRing::Put::pauses: say(to, {.kind = SharedControl::Kind::ring_pauses, .inbox = {}}); return false;
    case OutRing::Put::other_way:
      if (to.ring.is_due(options_.packets_before_ring) || is_ring_to_be_offered_again(to)) offer_ring(to);
      if (!to.ring.is_open()) tell_of_failures(to);
      return false;
    case OutRing::Put::begins: break;  // handled above
  }
  return false;
}

void SharedLink::say(const Other& to, const SharedControl& control) {
  inner_->send(to.peer.name, LinkLane::express, {detail::encode(control)});
}

// A peer that writes what no correct peer does.
void SharedLink::end_ring(const NodeName& peer) {
  refuse();
  inner_->disconnect(peer, {ErrorCode::protocol_violation, "the bytes of a ring are impossible"});
}

void SharedLink::on_frames(const NodeName& from, Incarnation incarnation, Frames frames) {
  const bool is_control = detail::is_shared_control(frames);
  if (!is_control && !detail::is_shared_table(frames)) {
    const auto is_large = [&](const Frame& frame) { return frame.bytes.size() >= options_.frame_bytes_min; };
    if (std::ranges::any_of(frames, is_large)) {  // after some that came by way of the CPU this process may use the GPU
      if (const SharedOther other = find(from)) accept_offers(*other);
    }
    return sink_->on_frames(from, incarnation, std::move(frames));
  }
  const SharedOther other = find(from);
  if (!other || other->peer.incarnation != incarnation) return;
  if (is_control) {
    const auto control = detail::decode_shared_control(frames.front());
    if (!control) return refuse();
    {
      const std::lock_guard lock(obeying_);
      obey(*other, *control);
    }
    return tell_of_failures(*other);
  }
  // A packet that is refused is lost: the session sends it again.
  auto whole = with_shared(*other, std::move(frames));
  if (!whole) return refuse();
  sink_->on_frames(from, incarnation, *std::move(whole));
}

std::optional<Frames> SharedLink::with_shared(Other& from, Frames packet) try {
  const auto entries = detail::decode_shared_table(packet.front());
  if (!entries) return std::nullopt;
  const std::size_t count = packet.size() - 1 + entries->size();
  Frames whole;
  whole.reserve(count);
  auto next = packet.begin() + 1;
  for (const SharedEntry& entry : *entries) {
    // Headers and bodies are read more than once: they must not change meanwhile.
    if (entry.frame <= kHeaderFrames || entry.frame >= count) return std::nullopt;
    while (whole.size() < entry.frame) {
      if (next == packet.end()) return std::nullopt;
      whole.push_back(std::move(*next++));
    }
    auto frame = entry.memory == SharedEntry::Memory::senders     ? shared_frame(from, entry)
                 : entry.memory == SharedEntry::Memory::receivers ? own_frame(from, entry)
                                                                  : gpu_frame(from, entry);
    if (!frame) return std::nullopt;
    whole.push_back(*std::move(frame));
  }
  whole.insert(whole.end(), std::move_iterator(next), std::move_iterator(packet.end()));
  return whole;
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

std::optional<Frame> SharedLink::shared_frame(Other& from, const SharedEntry& entry) {
  if (entry.lease.slot >= detail::kLeasesMax) return std::nullopt;
  auto segment = from.segment(entry.segment);
  if (!segment || !*segment) {
    take_inbox();  // the segment was put there before the packet was sent
    segment = from.segment(entry.segment);
  }
  // This process had no descriptor free for it, or no memory. The peer hands it over again with the next packet.
  if (!segment || !*segment)
    say(from, {.kind = SharedControl::Kind::not_received, .number = entry.segment, .inbox = {}});
  if (!segment) return std::nullopt;
  const std::lock_guard lock(from.mutex);
  return from.page ? frame_in(from, entry, *segment) : std::nullopt;
}

std::optional<Frame> SharedLink::frame_in(Other& from, const SharedEntry& entry,
                                          const std::shared_ptr<const detail::Mapping>& segment) {
  const auto slot = from.slots.find(entry.lease.slot);
  const detail::LeaseId last = slot == from.slots.end() ? detail::LeaseId{} : slot->second.id;
  if (last.generation > entry.lease.generation) return std::nullopt;  // its message has ended: the slot has another one
  std::shared_ptr<const Lease> lease = last == entry.lease ? slot->second.lease.lock() : nullptr;
  const std::shared_ptr<const detail::Mapping> memory = lease ? lease->segment() : segment;
  if (memory && !lies_in(entry.offset, entry.bytes, memory->bytes().size())) return std::nullopt;
  const auto bytes = memory ? memory->bytes().subspan(entry.offset, entry.bytes) : std::span<std::byte>();
  if (!lease) {
    // The packet was dropped before its session took it, or it comes again: only the session knows.
    const bool again = from.page->was_given_back(entry.lease);
    if (last == entry.lease && !again) return std::nullopt;  // another thread is giving it back
    lease = std::make_shared<const Lease>(entry.lease, from.page, memory);
    if (!from.page->hold(entry.lease)) return std::nullopt;
    // If it comes again, its block may have another tensor by now, which is the one to send back.
    from.hold(lease, again ? std::span<std::byte>() : bytes);
  }
  return Frame{bytes, std::move(lease), memory ? FrameMemory::foreign : FrameMemory::missing};
}

std::optional<Frame> SharedLink::own_frame(Other& from, const SharedEntry& entry) const {
  std::shared_ptr<detail::LeaseTable> leases;
  {
    const std::lock_guard lock(from.mutex);
    leases = from.leases;
  }
  const auto block = leases ? leases->find(entry.lease) : nullptr;
  if (!block) return std::nullopt;  // its message has ended, with the lease
  const std::size_t begin = block->offset_of(block->bytes());
  if (entry.offset < begin || !lies_in(entry.offset - begin, entry.bytes, block->bytes().size())) return std::nullopt;
  // As memory of the peer: its bytes did not travel.
  return Frame{block->bytes().subspan(entry.offset - begin, entry.bytes), block, FrameMemory::foreign};
}

void SharedLink::tidy(Other& to) {
  {
    const std::lock_guard lock(to.mutex);
    if (to.leases) to.leases->collect();
  }
  {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    if (now < next_tidy_) return;
    next_tidy_ = now + kTidyInterval;
  }
  tidy();
}

void SharedLink::tidy() {
  const auto others = all();
  for (const SharedOther& other : others) {
    const std::lock_guard lock(other->mutex);
    if (other->leases) other->leases->collect();
  }
  {
    std::vector<Orphans> ended;  // outlives the lock: freeing memory of a GPU may take long
    const std::lock_guard lock(mutex_);
    const auto first_ended = std::partition(orphans_.begin(), orphans_.end(), [](const Orphans& left) {
      const bool reads_nothing = left.leases->was_left() || has_ended(left.process);
      left.leases->collect();
      if (reads_nothing) left.leases->end_all();
      return left.leases->size() > 0 || (!left.blocks.empty() && !reads_nothing);
    });
    ended.assign(std::move_iterator(first_ended), std::move_iterator(orphans_.end()));
    orphans_.erase(first_ended, orphans_.end());
  }
  tell_of_ended_blocks(others);
  for (Untold ended(*pool_); !ended.empty(); ended.pop()) {
    const std::uint32_t segment = ended.front();
    for (const SharedOther& other : others) {
      {
        const std::lock_guard lock(other->mutex);
        if (!other->introduced.contains(segment)) continue;
      }
      say(*other, {.kind = SharedControl::Kind::ended, .number = segment, .inbox = {}});
      const std::lock_guard lock(other->mutex);
      other->introduced.erase(segment);
    }
  }
}

void SharedLink::release_unused(TimePoint now, Duration idle) {
  for (const SharedOther& other : all()) ask_again(*other);
  tidy();
  pool_->trim(now - idle);
  gpu_pool_->trim(now - idle);
  tidy();
}

std::optional<SharedMemoryUse> SharedLink::shared_memory() const {
  const detail::SegmentPool::Counts pool = pool_->counts();
  SharedMemoryUse use{.peers = 0,
                      .rings = 0,
                      .segments = pool.segments,
                      .bytes = pool.bytes,
                      .idle_bytes = pool.idle_bytes,
                      .kept_bytes = kept_bytes_->load(std::memory_order_relaxed),
                      .gpu_bytes = gpu_pool_->bytes(),
                      .leases = 0,
                      .tensors = frames_shared_.load(std::memory_order_relaxed),
                      .bytes_copied = bytes_copied_.load(std::memory_order_relaxed),
                      .bytes_avoided = bytes_avoided_.load(std::memory_order_relaxed),
                      .ring_packets = ring_packets_.load(std::memory_order_relaxed),
                      .refused = refused_.load(std::memory_order_relaxed)};
  for (const SharedOther& other : all()) {
    const std::lock_guard lock(other->mutex);
    if (other->process.is_open()) ++use.peers;
    if (other->ring.is_open()) ++use.rings;
    if (other->leases) use.leases += other->leases->size();
  }
  const std::lock_guard lock(mutex_);
  for (const Orphans& left : orphans_) use.leases += left.leases->size();
  return use;
}

std::map<NodeName, PeerTransport> SharedLink::transports() const {
  std::map<NodeName, PeerTransport> all_ways = inner_->transports();
  for (const SharedOther& other : all()) {
    const std::lock_guard lock(other->mutex);
    const auto below = all_ways.try_emplace(other->peer.name, PeerTransport{.way = "unix sockets", .why = {}}).first;
    if (other->is_elsewhere) continue;
    below->second = detail::transport_of(other->to_share, other->to_ring, other->to_fit, below->second);
  }
  return all_ways;
}

void SharedLink::on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) {
  sink_->on_reach(peer, incarnation, change, silence);
}
void SharedLink::on_link_failed(const Error& why) { sink_->on_link_failed(why); }
void SharedLink::on_connect_failed(std::string_view address, const Error& why) {
  sink_->on_connect_failed(address, why);
}

}  // namespace troupe
