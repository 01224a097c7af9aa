// How the two ends of a shared link find each other, and hand their memory over.
#include "node/links/shared_memory/shared_link.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/links/shared_memory/shared_link_parts.h"

namespace troupe {

using detail::HandedOver;
using detail::HandOver;
using detail::LeasePage;
using detail::LeaseTable;
using detail::Mapping;
using detail::SegmentInbox;
using detail::SharedControl;

namespace {

// To a peer that has not said hello, which may be a program that knows none and logs each.
constexpr int kHellosRepeatedMax = 3;

std::string system_error() { return std::generic_category().message(errno); }

}  // namespace

void SharedLink::on_link_up(const Peer& peer) {
  sink_->on_link_up(peer);
  auto other = std::make_shared<Other>(peer);
  begin(*other);
  {
    SharedOther former;  // outlives the lock
    const std::lock_guard lock(mutex_);
    SharedOther& known = others_[peer.name];
    if (known && known->peer.incarnation == peer.incarnation) return;
    former = std::exchange(known, other);
  }
  say_hello(*other);
}

void SharedLink::say_hello(const Other& to, Wants wants) {
  say(to, {.kind = SharedControl::Kind::hello,
           .token = to.token,
           .number = wants == Wants::hello ? 1U : 0U,
           .inbox = inbox_.place()});
}

void SharedLink::begin(Other& peer) const {
  const auto now = std::chrono::steady_clock::now();
  peer.to_share = detail::Agreement("node.shared_memory_max is 0 here");
  if (!options_.no_inbox.empty()) peer.to_share = detail::Agreement(options_.no_inbox);
  else if (options_.shares) peer.to_share.asked("it has not said where its inbox is", now);
  peer.to_ring = detail::Agreement(options_.rings ? "too few small messages so far" : "node.rings is false here");
  peer.to_read = detail::Agreement();
  peer.to_fit = detail::Agreement();
  peer.is_elsewhere = false;
}

void SharedLink::fail(Other& peer, detail::Agreement& agreement, std::string why) {
  const std::lock_guard lock(peer.mutex);
  agreement.failed(std::move(why));
}

void SharedLink::not_taken(Other& peer, detail::Agreement& agreement, SegmentInbox::Sent sent) const {
  std::string why = fmt::format("its inbox takes nothing: {}", system_error());
  const std::lock_guard lock(peer.mutex);
  if (sent == SegmentInbox::Sent::full) return agreement.asked(std::move(why), std::chrono::steady_clock::now());
  if (!peer.process.is_open()) {  // no memory of this node waits for it
    peer.leases = nullptr;
    peer.ring.give_up();
    peer.is_elsewhere = !all_are_here_;
    if (all_are_here_) peer.to_share.failed(why);
  }
  if (!peer.is_elsewhere) agreement.failed(std::move(why));
}

void SharedLink::tell_of_failures(Other& peer) {
  if (!options_.log) return;
  const auto now = std::chrono::steady_clock::now();
  const auto has_news = [&](const detail::Agreement& agreement) {
    const std::lock_guard lock(peer.mutex);
    return !peer.is_elsewhere && agreement.has_news(now, options_.answer_patience);
  };
  const auto tell = [&](detail::Agreement& agreement, std::string_view what, std::string_view otherwise) {
    if (!has_news(agreement)) return;
    {
      const std::lock_guard lock(mutex_);
      if (!lines_.take(now)) return;  // another time
    }
    std::optional<std::string> why;
    {
      const std::lock_guard lock(peer.mutex);
      why = agreement.news(now, options_.answer_patience);
    }
    if (why) options_.log(fmt::format("{} {}, {} the socket: {}", what, peer.peer.name, otherwise, *why));
  };
  tell(peer.to_share, "shares no memory with", "large messages to it take");
  tell(peer.to_ring, "has no ring to", "small messages to it take");
  tell(peer.to_fit, "shares not all tensors with", "the others take");
  tell(peer.to_read, "reads no memory of", "messages of it take");
}

void SharedLink::ask_again(Other& peer) {
  bool has_said_hello = false;
  {
    const std::lock_guard lock(peer.mutex);
    const auto now = std::chrono::steady_clock::now();
    if (peer.is_elsewhere || !peer.to_share.is_to_be_repeated(now, options_.answer_patience)) return;
    has_said_hello = !peer.inbox.empty();
    if (!has_said_hello && peer.hellos_repeated == kHellosRepeatedMax) return;
    if (!has_said_hello) ++peer.hellos_repeated;
  }
  say_hello(peer, has_said_hello ? Wants::nothing : Wants::hello);
  if (has_said_hello) give_page(peer);
}

SharedLink::Keys SharedLink::keys_with(const NodeName& peer) const {
  if (!options_.keys) return {};
  return {.own = options_.keys->own_keys().public_key(), .its = options_.keys->key_of(peer)};
}

// What a former key vouched for is heard no more, also if it lies in a ring. New rings are offered as at the start.
void SharedLink::follow_keys() {
  for (const SharedOther& other : all()) {
    const Keys keys = keys_with(other->peer.name);
    const std::lock_guard lock(other->mutex);
    if (other->bell && other->bell_keys != keys) receiver_->close(*other->bell);
    if (other->ring_keys == keys || other->ring_keys == Keys{}) continue;
    other->ring_keys = {};
    other->ring.close();
    other->doorbell.reset();
    if (options_.rings) other->to_ring = detail::Agreement("too few small messages since a key was replaced");
  }
}

void SharedLink::on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) {
  {
    const std::lock_guard obeying(obeying_);
    // What the peer sent before it closed the connection comes before the news that it has.
    if (const SharedOther other = find(peer); other && other->peer.incarnation == incarnation) read_no_longer(*other);
    TheirMemory left;  // outlives the lock
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(peer);
    if (found != others_.end() && found->second->peer.incarnation == incarnation) {
      left = abandon(*found->second);
      others_.erase(found);
    }
  }
  tidy();
  sink_->on_link_down(peer, incarnation, why);
}

// REQUIRES: mutex_ is held.
SharedLink::TheirMemory SharedLink::abandon(Other& peer) {
  const std::lock_guard lock(peer.mutex);
  if (peer.leases && peer.process.is_open())
    orphans_.push_back({peer.leases, std::move(peer.process), std::move(peer.gpus.told)});
  peer.leases = nullptr;
  peer.process.close();
  peer.introduced.clear();
  peer.slots.clear();  // a new page begins with other generations
  peer.by_address.clear();
  peer.doorbell.reset();
  peer.ring.close();
  return {.page = std::exchange(peer.page, nullptr),
          .segments = std::exchange(peer.segments, {}),
          .blocks = std::exchange(peer.gpus, {}).open};  // what begins anew knows of no offer
}

// Not under a lock: it may wait until packets of the peer are delivered.
void SharedLink::read_no_longer(Other& peer) {
  std::optional<std::uint32_t> bell;
  {
    const std::lock_guard lock(peer.mutex);
    bell = std::exchange(peer.bell, std::nullopt);
    peer.offered = nullptr;
  }
  if (bell) receiver_->remove(*bell);
}

void SharedLink::obey(Other& from, const SharedControl& control) {
  switch (control.kind) {
    case SharedControl::Kind::hello: return make_offer(from, control);
    case SharedControl::Kind::offered: return take_offer(from);
    case SharedControl::Kind::ready: {
      take_inbox();
      meet_pulse(from);
      const std::lock_guard lock(from.mutex);
      if (from.leases && !from.process.is_open())
        from.to_share.asked("it has not shown its process here", std::chrono::steady_clock::now());
      return;
    }
    case SharedControl::Kind::pulse_given:
    case SharedControl::Kind::inbox_full: return take_inbox();
    case SharedControl::Kind::not_received: {
      const std::lock_guard lock(from.mutex);
      const auto given = from.introduced.find(control.number);
      if (given != from.introduced.end()) given->second = false;  // until the next packet that needs it
      return;
    }
    case SharedControl::Kind::ring_offered: return read_ring(from);
    case SharedControl::Kind::ring_ready: {
      take_inbox();
      const std::lock_guard lock(from.mutex);
      if (!from.doorbell || control.number >= detail::kBellsMax) {
        from.to_ring.failed("its doorbell did not come");
        return refuse();
      }
      from.ring.open(*std::exchange(from.doorbell, std::nullopt), control.number);
      if (from.ring.is_open()) from.to_ring.reached();
      return;
    }
    case SharedControl::Kind::ring_begins:
    case SharedControl::Kind::ring_pauses: {
      std::optional<std::uint32_t> bell;
      {
        const std::lock_guard lock(from.mutex);
        bell = from.bell;
      }
      if (!bell) return refuse();
      if (control.kind == SharedControl::Kind::ring_begins) receiver_->allow(*bell, control.number);
      else receiver_->drain(*bell);
      return;
    }
    case SharedControl::Kind::ended: {
      take_inbox();                              // where no packet needed the segment, it still lies there
      decltype(from.segments)::node_type ended;  // outlives the lock: it may be large
      const std::lock_guard lock(from.mutex);
      ended = from.segments.extract(control.number);
      return;
    }
    case SharedControl::Kind::gpu_offered:
    case SharedControl::Kind::gpu_ready:
    case SharedControl::Kind::gpu_refused:
    case SharedControl::Kind::gpu_ended:
    case SharedControl::Kind::gpu_closed: return obey_about_gpus(from, control);
  }
}

void SharedLink::make_offer(Other& to, const SharedControl& hello) {
  if (!options_.no_inbox.empty()) return;
  if (hello.inbox.empty()) return refuse();
  bool again = false;
  bool is_known = false;
  {
    const std::lock_guard lock(to.mutex);
    again = !to.inbox.empty();
    is_known = again && to.its_token.matches(hello.token);
  }
  if (is_known) {  // it has no answer
    if (hello.number == 1) say_hello(to);
    return;
  }
  if (again) {  // it has lost the connection, and this node has not noticed: both begin anew
    read_no_longer(to);
    take_inbox();      // what it put there before is of its earlier life
    TheirMemory left;  // outlives the lock
    const std::lock_guard lock(mutex_);
    left = abandon(to);
  }
  std::shared_ptr<LeaseTable> leases;
  std::string why;
  if (options_.shares) {
    if (auto made = LeaseTable::make()) leases = std::move(made).value();
    else why = made.error().message;
  }
  {
    const std::lock_guard lock(to.mutex);
    if (again) begin(to);
    to.inbox = hello.inbox;
    to.its_token = hello.token;
    to.shown_to_it = detail::shown_by(options_.name, hello.token);
    to.leases = leases;
    if (leases) to.to_share.asked("it has not mapped the memory that it was offered", std::chrono::steady_clock::now());
    else if (options_.shares) to.to_share.failed(std::move(why));
  }
  if (again || hello.number == 1) say_hello(to);
  give_page(to);
}

// Nothing, if this node does not share, or has no memory: frames travel.
void SharedLink::give_page(Other& to) {
  HandedOver page{.kind = HandOver::page, .token = {}, .bytes = detail::kLeasePageBytes, .file = {}};
  std::string inbox;
  std::shared_ptr<LeaseTable> leases;
  {
    const std::lock_guard lock(to.mutex);
    page.token = to.shown_to_it;
    inbox = to.inbox;
    leases = to.leases;
  }
  if (!leases) return;
  if (const auto sent = inbox_.send(inbox, page, leases->descriptor()); sent != SegmentInbox::Sent::done) {
    not_taken(to, to.to_share, sent);
    if (sent == SegmentInbox::Sent::full) say(to, {.kind = SharedControl::Kind::inbox_full, .inbox = {}});
    return;
  }
  say(to, {.kind = SharedControl::Kind::offered, .inbox = {}});
}

void SharedLink::take_offer(Other& from) {
  take_inbox();
  HandedOver here{.kind = HandOver::ready, .token = {}, .file = {}};
  std::string inbox;
  {
    const std::lock_guard lock(from.mutex);
    if (!from.page) return from.to_read.asked("its page of leases did not come", std::chrono::steady_clock::now());
    here.token = from.shown_to_it;
    inbox = from.inbox;
  }
  if (const auto sent = inbox_.send(inbox, here, -1); sent != SegmentInbox::Sent::done)
    return not_taken(from, from.to_read, sent);
  inner_->send(from.peer.name, LinkLane::express,
               {detail::encode(SharedControl{.kind = SharedControl::Kind::ready, .inbox = {}})});
  const std::lock_guard lock(from.mutex);
  from.to_read.reached();
}

// A peer that has shown its process is on this host: its pulse needs no messages.
void SharedLink::meet_pulse(Other& peer) {
  if (!options_.pulse) return;
  std::string inbox;
  detail::InboxToken shown{};
  {
    const std::lock_guard lock(peer.mutex);
    if (!peer.process.is_open()) return;
    inbox = peer.inbox;
    shown = peer.shown_to_it;
  }
  options_.pulse->give([this, to = peer.peer.name, inbox, shown](Pulse& pulse, TimePoint) {
    pulse.meet(to, [this, to, inbox, shown](int page) { give_pulse_page(to, inbox, shown, page); });
  });
}

// One that does not come is given again: the peer's heartbeats say that it does not read it.
void SharedLink::give_pulse_page(const NodeName& to, const std::string& inbox, const detail::InboxToken& shown,
                                 int page) {
  const HandedOver what{.kind = HandOver::pulse, .token = shown, .bytes = PulsePage::kBytes, .file = {}};
  if (inbox_.send(inbox, what, page) == SegmentInbox::Sent::nobody) return;
  inner_->send(to, LinkLane::express,
               {detail::encode(SharedControl{.kind = SharedControl::Kind::pulse_given, .inbox = {}})});
}

bool SharedLink::is_ring_to_be_offered_again(Other& to) const {
  const std::lock_guard lock(to.mutex);
  return !to.is_elsewhere && !to.ring.is_open() &&
         to.to_ring.is_to_be_repeated(std::chrono::steady_clock::now(), options_.answer_patience);
}

// A peer that this node talks with gets a ring. Whatever fails: packets take the link below, as before.
void SharedLink::offer_ring(Other& to) {
  HandedOver ring{.kind = HandOver::ring, .token = {}, .bytes = detail::kRingSegmentBytes, .file = {}};
  std::string inbox;
  {
    const Keys keys = keys_with(to.peer.name);
    const std::lock_guard lock(to.mutex);
    to.ring_keys = keys;
    if (to.inbox.empty()) return to.ring.close();  // it has not said hello: counts anew
    ring.token = to.shown_to_it;
    inbox = to.inbox;
  }
  const auto memory = to.ring.make();
  if (!memory) return fail(to, to.to_ring, memory.error().message);
  if (const auto sent = inbox_.send(inbox, ring, memory.value().get()); sent != SegmentInbox::Sent::done)
    return not_taken(to, to.to_ring, sent);
  {
    const std::lock_guard lock(to.mutex);
    to.to_ring.asked("it has not taken the ring that it was offered, as with node.rings = false",
                     std::chrono::steady_clock::now());
  }
  inner_->send(to.peer.name, LinkLane::express,
               {detail::encode(SharedControl{.kind = SharedControl::Kind::ring_offered, .inbox = {}})});
}

void SharedLink::read_ring(Other& from) {
  take_inbox();
  HandedOver doorbell{.kind = HandOver::doorbell, .token = {}, .bytes = detail::kDoorbellBytes, .file = {}};
  std::string inbox;
  std::shared_ptr<const Mapping> ring;
  std::optional<std::uint32_t> former;
  const Keys keys = keys_with(from.peer.name);
  {
    const std::lock_guard lock(from.mutex);
    ring = std::exchange(from.offered, nullptr);
    if (!options_.rings || (!ring && from.bell)) return;
    if (!ring) return from.to_read.asked("its ring did not come", std::chrono::steady_clock::now());
    former = std::exchange(from.bell, std::nullopt);
    doorbell.token = from.shown_to_it;
    inbox = from.inbox;
  }
  if (former) {  // it has closed that one, or has heard nothing of it
    receiver_->close(*former);
    receiver_->remove(*former);
  }
  const auto place = receiver_->add(from.peer.name, from.peer.incarnation, std::move(ring));
  if (!place) return fail(from, from.to_read, place.error().message);
  {
    const std::lock_guard lock(from.mutex);
    from.bell = place.value().bell;
    from.bell_keys = keys;
    if (keys_with(from.peer.name) != keys) receiver_->close(*from.bell);  // replaced meanwhile
  }
  if (const auto sent = inbox_.send(inbox, doorbell, place.value().doorbell); sent != SegmentInbox::Sent::done)
    return not_taken(from, from.to_read, sent);
  inner_->send(from.peer.name, LinkLane::express,
               {detail::encode(
                   SharedControl{.kind = SharedControl::Kind::ring_ready, .number = place.value().bell, .inbox = {}})});
}

void SharedLink::take_inbox() {
  const std::lock_guard one_at_a_time(inbox_mutex_);
  while (const std::optional<HandedOver> what = inbox_.receive()) {
    try {
      take(*what);
    } catch (const std::bad_alloc&) {  // as one that did not come
      refuse();
    }
  }
}

void SharedLink::take(const HandedOver& what) {
  const auto others = all();
  const auto sender = std::ranges::find_if(others, [&](const SharedOther& o) { return o->shown.matches(what.token); });
  if (sender == others.end()) return refuse();
  Other& from = **sender;
  std::shared_ptr<const Mapping> dropped;  // outlives the lock
  const std::lock_guard lock(from.mutex);
  switch (what.kind) {
    case HandOver::page:
      if (from.page) return;
      if (auto page = LeasePage::map(what.file)) from.page = std::move(page).value();
      else from.to_read.failed(page.error().message);
      return;
    case HandOver::segment: {
      const bool is_new = !from.segments.contains(what.segment);
      if (is_new && from.segments.size() >= detail::kLeasesMax) {
        // The news of a segment's end may be lost with a connection: the oldest makes room.
        dropped = from.drop_oldest_segment();
        if (from.segments.size() >= detail::kLeasesMax) return refuse();
      }
      auto memory = detail::map_segment(what.file, what.bytes, detail::Writers::owner);
      if (!memory) refuse();
      auto& segment = from.segments[what.segment];
      if (is_new) segment.serial = ++from.segments_came;
      // null: it could not be mapped; messages that need it fail, and the next one asks for it again
      if (memory) segment.memory = memory.value();
      return;
    }
    case HandOver::ring: {
      auto memory = detail::map_segment(what.file, what.bytes, detail::Writers::all);
      if (!memory || what.bytes != detail::kRingSegmentBytes) {
        from.to_read.failed(memory ? "its ring has another size" : memory.error().message);
        return refuse();
      }
      from.offered = memory.value();
      return;
    }
    case HandOver::doorbell: {
      auto doorbell = detail::Doorbell::map(what.file);
      if (!doorbell) {
        from.to_ring.failed(doorbell.error().message);
        return refuse();
      }
      from.doorbell.emplace(std::move(doorbell).value());
      return;
    }
    case HandOver::pulse: {
      if (!options_.pulse) return;
      auto page = PeerPulsePage::map(what.file);
      if (!page) return refuse();
      options_.pulse->give([peer = from.peer, page = std::move(page).value()](Pulse& pulse, TimePoint) {
        pulse.see(peer.name, peer.incarnation, page);
      });
      return;
    }
    case HandOver::ready:
      // Without a descriptor of its process nothing would tell when its memory is free after a crash. One that has
      // said no hello, or was offered no leases, is not ready, whatever it says.
      if (!from.leases || from.process.is_open()) return;
      if (what.sender <= 0) return from.to_share.failed("its process cannot be seen from this one");
      from.process = detail::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, what.sender, 0)));
      if (from.process.is_open()) from.to_share.reached();
      else from.to_share.failed(fmt::format("no descriptor of its process: {}", system_error()));
      return;
  }
}

}  // namespace troupe
