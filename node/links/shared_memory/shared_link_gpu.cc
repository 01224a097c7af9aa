// How tensors on a GPU that two processes use go from one to the other: the sender copies one into a block that the
// receiver has open, and the receiver copies it out, both within the GPU.
#include <unistd.h>

#include <chrono>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "node/links/shared_memory/shared_link.h"
#include "node/links/shared_memory/shared_link_parts.h"
#include "tensor/error.h"

namespace troupe {

using detail::GpuAllocation;
using detail::GpuBlock;
using detail::GpuMemory;
using detail::SharedControl;
using detail::SharedEntry;

namespace {

constexpr int kGpusMax = 1024;  ///< a peer announces no more: each takes memory here

}  // namespace

SharedLink::GpuLease::~GpuLease() {
  try {
    gpus_->finish(gpu_);
  } catch (const DeviceError&) {
    // The GPU does no work for this process any more.
  }
  page_->give_back(id_);
}

std::string SharedLink::offer_text(const std::string& uuid) const {
  return uuid + " " + (options_.process.empty() ? std::to_string(::getpid()) : options_.process);
}

bool SharedLink::can_share(Other& to, int gpu) {
  {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(to.mutex);
    const auto offer = to.gpus.offers.find(gpu);
    if (offer == to.gpus.offers.end()) {
      detail::Agreement made;
      made.asked("it has not said that it uses this GPU", now);
      to.gpus.offers.emplace(gpu, std::move(made));
    } else if (!offer->second.is_to_be_repeated(now, options_.answer_patience)) {
      return offer->second.is_reached();
    }
  }
  const std::string uuid = options_.gpus->uuid_of(gpu);
  if (uuid.empty()) return false;
  inner_->send(to.peer.name, LinkLane::express,
               {detail::encode(SharedControl{.kind = SharedControl::Kind::gpu_offered,
                                             .number = static_cast<std::uint32_t>(gpu),
                                             .inbox = offer_text(uuid)})});
  return false;
}

void SharedLink::share_on_gpu(Other& to, Frame& frame) {
  const int gpu = frame.device.index;
  if (!can_share(to, gpu)) return;
  const std::size_t size = frame.bytes.size();
  const std::shared_ptr<GpuBlock> block = gpu_pool_->take(gpu, size);
  if (!block) return;
  const std::shared_ptr<const GpuAllocation>& memory = block->memory();
  try {
    options_.gpus->copy(gpu, memory->bytes().data(), frame.bytes);
  } catch (const DeviceError&) {
    return;  // the copy to the CPU, which comes next, says why
  }
  bytes_copied_.fetch_add(size, std::memory_order_relaxed);
  Frame former;  // outlives the lock: its owner may be anything
  const std::lock_guard lock(to.mutex);
  if (!to.process.is_open()) return;  // it has gone meanwhile
  const SharedEntry entry{.frame = 0,
                          .memory = SharedEntry::Memory::gpu,
                          .segment = memory->id(),
                          .lease = {},
                          .offset = 0,
                          .bytes = size,
                          .gpu = static_cast<std::uint32_t>(gpu),
                          .handle = memory->handle()};
  auto sent = std::make_shared<Sent>(entry, block);
  to.gpus.told.try_emplace(memory->id(), MaybeOpen{.memory = memory});
  const auto id = to.leases->open_other(block);  // from here on nothing needs memory, and no lease is lost
  if (!id) return;
  sent->take(*id, to.leases);
  former =
      std::exchange(frame, {memory->bytes().first(size), std::move(sent), FrameMemory::leased, nullptr, frame.device});
  frames_shared_.fetch_add(1, std::memory_order_relaxed);
}

bool SharedLink::leave_lease(Frame& frame) const {
  if (frame.device == Device::cpu()) {
    frame.memory = FrameMemory::own;
    return true;
  }
  try {
    Storage copy = Storage::allocate(frame.bytes.size());
    options_.gpus->copy_to_cpu(frame.device.index, copy.mutable_data(), frame.bytes);
    const FrozenBytes bytes = copy.freeze();
    frame = {bytes.bytes(), bytes.owner()};
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const DeviceError&) {
    return false;
  }
}

std::shared_ptr<const SharedLink::GpuLease> SharedLink::gpu_lease(Other& from, int gpu, const SharedEntry& entry,
                                                                  bool opens) {
  auto block = from.gpus.open.find(entry.segment);
  if (opens && block == from.gpus.open.end() && from.gpus.open.size() < detail::kLeasesMax) {
    if (auto opened = options_.gpus->open(gpu, entry.handle))
      block = from.gpus.open.emplace(entry.segment, *std::move(opened)).first;
  }
  GpuMemory::Opened opened = block == from.gpus.open.end() ? GpuMemory::Opened{} : block->second;
  return std::make_shared<const GpuLease>(options_.gpus, gpu, std::move(opened), entry.lease, from.page);
}

std::optional<Frame> SharedLink::gpu_frame(Other& from, const SharedEntry& entry) {
  if (entry.lease.slot >= detail::kLeasesMax) return std::nullopt;
  bool again = false;
  std::shared_ptr<const GpuLease> lease;  // destroyed without the lock: it may wait
  {
    const std::lock_guard lock(from.mutex);
    const auto gpu = from.gpus.gpus.find(entry.gpu);
    if (!from.page || gpu == from.gpus.gpus.end()) return std::nullopt;
    OtherGpus::Held& held = from.gpus.leases[entry.lease.slot];
    // Its message has ended: the slot has another one.
    if (held.id.generation > entry.lease.generation) return std::nullopt;
    const bool is_last = held.id == entry.lease;
    if (is_last) lease = held.lease.lock();
    if (!lease) {
      // The packet was dropped before its session took it, or it comes again: only the session knows.
      again = from.page->was_given_back(entry.lease);
      if (is_last && !again) return std::nullopt;  // another thread is giving it back
      // Its block was opened when it came first, if it could be. By now the block may have ended.
      lease = gpu_lease(from, gpu->second, entry, !again);
      if (!from.page->hold(entry.lease)) return std::nullopt;
      held = {.id = entry.lease, .lease = lease};
    }
  }
  if (lease->bytes().empty()) {  // this message fails; later ones come by way of the CPU
    if (!again) say(from, {.kind = SharedControl::Kind::gpu_refused, .number = entry.gpu, .inbox = {}});
    return Frame{{}, std::move(lease), FrameMemory::missing};
  }
  if (!lies_in(entry.offset, entry.bytes, lease->bytes().size())) return std::nullopt;
  return Frame{lease->bytes().subspan(entry.offset, entry.bytes), lease, FrameMemory::foreign, nullptr,
               Device::cuda(static_cast<std::int16_t>(lease->gpu()))};
}

void SharedLink::consider_offer(Other& from, const SharedControl& offer) {
  if (offer.number >= kGpusMax) return refuse();
  for (int gpu = 0; gpu < std::numeric_limits<std::int16_t>::max(); ++gpu) {
    const std::string own = options_.gpus->uuid_of(gpu);
    if (own.empty()) return;  // this process does not see that GPU
    if (!offer.inbox.starts_with(own)) continue;
    // A process cannot open its own blocks: nodes of one process are given copies by way of the CPU.
    if (offer.inbox == offer_text(own)) return;
    {
      const std::lock_guard lock(from.mutex);
      from.gpus.offered[offer.number] = gpu;
    }
    return accept_offers(from);
  }
}

void SharedLink::accept_offers(Other& from) try {
  std::map<std::uint32_t, int> offered;
  {
    const std::lock_guard lock(from.mutex);
    if (from.gpus.offered.empty()) return;
    offered = from.gpus.offered;
  }
  for (const auto& [number, gpu] : offered) {
    if (!options_.gpus->is_in_use(gpu)) continue;  // a block of it would take memory for this process' context there
    {
      const std::lock_guard lock(from.mutex);
      from.gpus.gpus[number] = gpu;
    }
    say(from, {.kind = SharedControl::Kind::gpu_ready, .number = number, .inbox = {}});
    const std::lock_guard lock(from.mutex);
    from.gpus.offered.erase(number);
  }
} catch (const std::bad_alloc&) {
  // The offers stay for the next large packet.
}

void SharedLink::obey_about_gpus(Other& from, const SharedControl& control) {
  const auto answer_offer = [&] {
    const std::lock_guard lock(from.mutex);
    const auto offer =
        control.number < kGpusMax ? from.gpus.offers.find(static_cast<int>(control.number)) : from.gpus.offers.end();
    if (offer == from.gpus.offers.end()) return refuse();
    detail::Agreement& agreement = offer->second;
    if (control.kind == SharedControl::Kind::gpu_refused) return agreement.failed("it cannot open memory of this GPU");
    if (!agreement.has_failed()) agreement.reached();
  };
  switch (control.kind) {
    case SharedControl::Kind::gpu_offered: return consider_offer(from, control);
    case SharedControl::Kind::gpu_ready:
    case SharedControl::Kind::gpu_refused: return answer_offer();
    case SharedControl::Kind::gpu_ended: {
      {
        std::optional<GpuMemory::Opened> closed;  // after the lock
        const std::lock_guard lock(from.mutex);
        const auto block = from.gpus.open.find(control.number);
        if (block != from.gpus.open.end()) {
          closed = std::move(block->second);
          from.gpus.open.erase(block);
        }
      }
      inner_->send(from.peer.name, LinkLane::express,
                   {detail::encode(
                       SharedControl{.kind = SharedControl::Kind::gpu_closed, .number = control.number, .inbox = {}})});
      return;
    }
    default: {
      std::shared_ptr<const GpuAllocation> closed;  // freed after the lock
      const std::lock_guard lock(from.mutex);
      const auto block = from.gpus.told.find(control.number);
      if (block == from.gpus.told.end()) return;  // it was told twice, and has answered twice
      closed = std::move(block->second.memory);
      from.gpus.told.erase(block);
      return;
    }
  }
}

void SharedLink::tell_of_ended_blocks(const std::vector<SharedOther>& others) {
  const auto now = std::chrono::steady_clock::now();
  const auto unanswered = [&](Other& other) {
    std::vector<std::uint32_t> blocks;
    const std::lock_guard lock(other.mutex);
    for (auto& [block, open] : other.gpus.told) {
      if (open.end.is_to_be_repeated(now, options_.answer_patience)) blocks.push_back(block);
    }
    return blocks;
  };
  const auto is_untold = [](Other& other, std::uint32_t block) {
    const std::lock_guard lock(other.mutex);
    const auto open = other.gpus.told.find(block);
    return open != other.gpus.told.end() && !open->second.end.is_asked();
  };
  const auto was_told = [now](Other& other, std::uint32_t block) {
    const std::lock_guard lock(other.mutex);
    const auto open = other.gpus.told.find(block);
    if (open != other.gpus.told.end()) open->second.end.asked("not closed", now);
  };
  const auto tell = [this](const Other& other, std::uint32_t block) {
    say(other, {.kind = SharedControl::Kind::gpu_ended, .number = block, .inbox = {}});
  };
  for (const SharedOther& other : others) {
    for (const std::uint32_t block : unanswered(*other)) tell(*other, block);
  }
  for (Untold ended(*gpu_pool_); !ended.empty(); ended.pop()) {
    const std::uint32_t block = ended.front();
    for (const SharedOther& other : others) {
      if (!is_untold(*other, block)) continue;
      tell(*other, block);
      was_told(*other, block);
    }
  }
}

}  // namespace troupe
