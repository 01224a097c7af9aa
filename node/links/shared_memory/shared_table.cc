#include "node/links/shared_memory/shared_table.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace troupe::detail {
namespace {

constexpr std::uint32_t kTableMagic = 0x54505254;    // "TRPT"
constexpr std::uint32_t kControlMagic = 0x43505254;  // "TRPC"
constexpr std::size_t kTableHead = 8;                // magic, zero (4)
// 0 frame, 4 memory, 5 zero (3), 8 segment, 12 slot, 16 generation, 24 offset, 32 bytes
constexpr std::size_t kEntryBytes = 40;
// of a GPU's block, after the entry: 0 gpu, 4 zero (4), 8 handle
constexpr std::size_t kGpuBytes = 8 + std::tuple_size_v<GpuBlockHandle>;
// 0 magic, 4 kind, 5 zero (3), 8 token, 24 number, 28 the inbox's place
constexpr std::size_t kControlHead = 28;
constexpr std::size_t kInboxMax = 107;  // of a unix socket's path

bool begins_with(const Frames& packet, std::uint32_t magic) {
  return !packet.empty() && packet.front().bytes.size() >= sizeof magic &&
         load_little_endian<std::uint32_t>(packet.front().bytes) == magic;
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Frame encode(const std::vector<SharedEntry>& entries) {
  const auto on_gpus = std::ranges::count(entries, SharedEntry::Memory::gpu, &SharedEntry::memory);
  std::vector<std::byte> bytes(kTableHead + entries.size() * kEntryBytes +
                               static_cast<std::size_t>(on_gpus) * kGpuBytes);
  store_little_endian(std::span(bytes), kTableMagic);
  std::span<std::byte> to = std::span(bytes).subspan(kTableHead);
  for (const SharedEntry& entry : entries) {
    store_little_endian(to, entry.frame);
    to[4] = static_cast<std::byte>(entry.memory);
    store_little_endian(to.subspan(8), entry.segment);
    store_little_endian(to.subspan(12), entry.lease.slot);
    store_little_endian(to.subspan(16), entry.lease.generation);
    store_little_endian(to.subspan(24), entry.offset);
    store_little_endian(to.subspan(32), entry.bytes);
    to = to.subspan(kEntryBytes);
    if (entry.memory != SharedEntry::Memory::gpu) continue;
    store_little_endian(to, entry.gpu);
    std::ranges::copy(entry.handle, to.subspan(8).begin());
    to = to.subspan(kGpuBytes);
  }
  return make_frame(std::move(bytes));
}

bool is_shared_table(const Frames& packet) { return begins_with(packet, kTableMagic); }

std::optional<std::vector<SharedEntry>> decode_shared_table(const Frame& frame) {
  if (frame.bytes.size() <= kTableHead || !is_zero(frame.bytes.subspan(4, 4))) return std::nullopt;
  std::vector<SharedEntry> entries;
  for (std::span<const std::byte> from = frame.bytes.subspan(kTableHead); !from.empty();) {
    if (from.size() < kEntryBytes) return std::nullopt;
    SharedEntry entry{.frame = load_little_endian<std::uint32_t>(from),
                      .memory = static_cast<SharedEntry::Memory>(from[4]),
                      .segment = load_little_endian<std::uint32_t>(from.subspan(8)),
                      .lease = {.slot = load_little_endian<std::uint32_t>(from.subspan(12)),
                                .generation = load_little_endian<std::uint64_t>(from.subspan(16))},
                      .offset = load_little_endian<std::uint64_t>(from.subspan(24)),
                      .bytes = load_little_endian<std::uint64_t>(from.subspan(32))};
    if (!is_zero(from.subspan(5, 3))) return std::nullopt;
    if (entry.memory < SharedEntry::Memory::senders || entry.memory > SharedEntry::Memory::gpu) return std::nullopt;
    if (!entries.empty() && entry.frame <= entries.back().frame) return std::nullopt;
    from = from.subspan(kEntryBytes);
    if (entry.memory == SharedEntry::Memory::gpu) {
      if (from.size() < kGpuBytes || !is_zero(from.subspan(4, 4))) return std::nullopt;
      entry.gpu = load_little_endian<std::uint32_t>(from);
      std::ranges::copy(from.subspan(8, entry.handle.size()), entry.handle.begin());
      from = from.subspan(kGpuBytes);
    }
    entries.push_back(entry);
  }
  return entries;
}

Frame encode(const SharedControl& control) {
  std::vector<std::byte> bytes(kControlHead + control.inbox.size());
  const std::span<std::byte> all(bytes);
  store_little_endian(all, kControlMagic);
  all[4] = static_cast<std::byte>(control.kind);
  std::ranges::copy(control.token.bytes, all.subspan(8).begin());
  store_little_endian(all.subspan(24), control.number);
  std::ranges::copy(std::as_bytes(std::span(control.inbox)), all.subspan(kControlHead).begin());
  return make_frame(std::move(bytes));
}

bool is_shared_control(const Frames& packet) { return begins_with(packet, kControlMagic); }

std::optional<SharedControl> decode_shared_control(const Frame& frame) {
  const std::span<const std::byte> bytes = frame.bytes;
  if (bytes.size() < kControlHead || bytes.size() > kControlHead + kInboxMax) return std::nullopt;
  SharedControl control;
  control.kind = static_cast<SharedControl::Kind>(bytes[4]);
  if (!is_zero(bytes.subspan(5, 3))) return std::nullopt;
  if (control.kind < SharedControl::Kind::hello || control.kind > SharedControl::Kind::pulse_given) return std::nullopt;
  std::ranges::copy(bytes.subspan(8, control.token.bytes.size()), control.token.bytes.begin());
  control.number = load_little_endian<std::uint32_t>(bytes.subspan(24));
  const std::span<const std::byte> inbox = bytes.subspan(kControlHead);
  control.inbox.assign(reinterpret_cast<const char*>(inbox.data()), inbox.size());
  return control;
}

}  // namespace troupe::detail
