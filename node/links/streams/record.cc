#include "node/links/streams/record.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tensor/storage.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kFieldBytes = sizeof(std::uint32_t);

const unsigned char* sodium_bytes(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
unsigned char* sodium_bytes(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

std::size_t table_bytes(const Frames& packet) { return kFieldBytes * (1 + packet.size()); }

std::size_t content_bytes_of(const Frames& packet) {
  std::size_t bytes = table_bytes(packet);
  for (const Frame& frame : packet) bytes += frame.bytes.size();
  return bytes;
}

RecordHead head_of(std::size_t content) {
  RecordHead head{};
  store_little_endian(std::span<std::byte>{head}, static_cast<std::uint32_t>(content));
  return head;
}

void write_table(const Frames& packet, std::span<std::byte> to) {
  store_little_endian(to, static_cast<std::uint32_t>(packet.size()));
  for (std::size_t i = 0; i < packet.size(); ++i)
    store_little_endian(to.subspan(kFieldBytes * (1 + i)), static_cast<std::uint32_t>(packet[i].bytes.size()));
}

crypto_aead_aes256gcm_state* state_in(LockedBytes& memory) {
  return reinterpret_cast<crypto_aead_aes256gcm_state*>(memory.bytes().data());
}

Frame frozen(Storage&& storage) {
  const FrozenBytes bytes = std::move(storage).freeze();
  return {bytes.bytes(), bytes.owner()};
}

}  // namespace

bool fits_record(const Frames& packet) {
  const bool is_here = std::ranges::all_of(
      packet, [](const Frame& frame) { return frame.device == Device::cpu() && frame.memory != FrameMemory::leased; });
  return is_here && !packet.empty() && packet.size() <= kRecordFramesMax &&
         content_bytes_of(packet) <= kRecordContentMax;
}

RecordCipher::RecordCipher(const StreamKey& key, Cipher cipher) : cipher_(cipher), key_(key) {
  if (cipher != Cipher::aes256_gcm) return;
  if (::crypto_aead_aes256gcm_is_available() != 1)
    throw std::runtime_error("[RecordCipher] this processor has no instructions for AES");
  expanded_ = std::make_unique<LockedBytes>(sizeof(crypto_aead_aes256gcm_state));
  (void)::crypto_aead_aes256gcm_beforenm(state_in(*expanded_), sodium_bytes(key_.bytes().data()));
}

RecordCipher::AesNonce RecordCipher::next_nonce() {
  static_assert(crypto_aead_aes256gcm_NPUBBYTES == std::tuple_size_v<AesNonce>);
  static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == std::tuple_size_v<AesNonce>);
  AesNonce nonce{};
  store_little_endian(std::as_writable_bytes(std::span{nonce}).subspan<4>(), records_++);
  return nonce;
}

void RecordCipher::seal(const RecordHead& head, std::span<std::byte> content, std::span<std::byte, 16> tag) {
  const AesNonce nonce = next_nonce();
  if (cipher_ == Cipher::aes256_gcm) {
    (void)::crypto_aead_aes256gcm_encrypt_detached_afternm(
        sodium_bytes(content.data()), sodium_bytes(tag.data()), nullptr, sodium_bytes(content.data()), content.size(),
        sodium_bytes(head.data()), head.size(), nullptr, nonce.data(), state_in(*expanded_));
  } else {
    (void)::crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        sodium_bytes(content.data()), sodium_bytes(tag.data()), nullptr, sodium_bytes(content.data()), content.size(),
        sodium_bytes(head.data()), head.size(), nullptr, nonce.data(), sodium_bytes(key_.bytes().data()));
  }
}

bool RecordCipher::open(const RecordHead& head, std::span<std::byte> content, std::span<const std::byte, 16> tag) {
  const AesNonce nonce = next_nonce();
  if (cipher_ == Cipher::aes256_gcm) {
    return ::crypto_aead_aes256gcm_decrypt_detached_afternm(sodium_bytes(content.data()), nullptr,
                                                            sodium_bytes(content.data()), content.size(),
                                                            sodium_bytes(tag.data()), sodium_bytes(head.data()),
                                                            head.size(), nonce.data(), state_in(*expanded_)) == 0;
  }
  return ::crypto_aead_chacha20poly1305_ietf_decrypt_detached(
             sodium_bytes(content.data()), nullptr, sodium_bytes(content.data()), content.size(),
             sodium_bytes(tag.data()), sodium_bytes(head.data()), head.size(), nonce.data(),
             sodium_bytes(key_.bytes().data())) == 0;
}

Frames record_of(const Frames& packet, RecordCipher& cipher) {
  const std::size_t content = content_bytes_of(packet);
  const RecordHead head = head_of(content);
  const std::size_t described = head.size() + table_bytes(packet);
  const bool sealed = cipher.cipher() != Cipher::none;
  Storage memory = Storage::allocate(sealed ? head.size() + content + cipher.tag_bytes() : described);
  const std::span<std::byte> bytes{memory.mutable_data(), memory.size()};
  std::ranges::copy(head, bytes.begin());
  write_table(packet, bytes.subspan(head.size()));
  if (!sealed) {
    Frames parts{frozen(std::move(memory))};
    parts.insert(parts.end(), packet.begin(), packet.end());
    return parts;
  }
  std::byte* to = bytes.data() + described;
  for (const Frame& frame : packet) {
    if (!frame.bytes.empty()) std::memcpy(to, frame.bytes.data(), frame.bytes.size());
    to += frame.bytes.size();
  }
  cipher.seal(head, bytes.subspan(head.size(), content), bytes.last<std::tuple_size_v<RecordTag>>());
  return {frozen(std::move(memory))};
}

std::optional<std::size_t> content_bytes(const RecordHead& head) {
  const std::span<const std::byte> bytes{head};
  const auto content = load_little_endian<std::uint32_t>(bytes);
  const auto zero = load_little_endian<std::uint32_t>(bytes.subspan(kFieldBytes));
  if (zero != 0 || content < kFieldBytes || content > kRecordContentMax) return std::nullopt;
  return content;
}

std::optional<Frames> frames_of(const Frame& content) {
  std::span<const std::byte> rest = content.bytes;
  if (rest.size() < kFieldBytes) return std::nullopt;
  const std::size_t count = load_little_endian<std::uint32_t>(rest);
  rest = rest.subspan(kFieldBytes);
  if (count == 0 || count > kRecordFramesMax || count > rest.size() / kFieldBytes) return std::nullopt;
  const std::span<const std::byte> sizes = rest.first(count * kFieldBytes);
  rest = rest.subspan(sizes.size());
  Frames packet;
  packet.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = load_little_endian<std::uint32_t>(sizes.subspan(i * kFieldBytes));
    if (size > rest.size()) return std::nullopt;
    packet.push_back({rest.first(size), content.owner});
    rest = rest.subspan(size);
  }
  if (!rest.empty()) return std::nullopt;
  return packet;
}

}  // namespace troupe::detail
