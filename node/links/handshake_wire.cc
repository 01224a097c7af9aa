#include "node/links/handshake_wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "actors/sessions/failure_detector.h"
#include "messages/frame.h"

namespace troupe::handshake {
namespace {

constexpr std::uint32_t kMagic = 0x48505254;  // "TRPH"
constexpr std::size_t kTextMax = 255;
constexpr std::uint32_t kEndless = std::numeric_limits<std::uint32_t>::max();

enum class Kind : std::uint8_t { hello = 1, challenge = 2, proof = 3, welcome = 4, refused = 5 };

class Writer {
 public:
  explicit Writer(Kind kind) {
    put(kMagic);
    put(static_cast<std::uint8_t>(kind));
  }

  template <std::unsigned_integral T>
  void put(T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    detail::store_little_endian(std::span<std::byte>(bytes), value);
    for (const std::byte byte : bytes) bytes_.push_back(byte);
  }
  void put(const Incarnation& incarnation) {
    put(incarnation.high);
    put(incarnation.low);
  }
  void put(const std::array<std::byte, 32>& block) { bytes_.insert(bytes_.end(), block.begin(), block.end()); }
  void put(const PulseInfo& pulse) {
    put(std::string_view(pulse.address));
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(pulse.lease).count();
    put(static_cast<std::uint32_t>(std::clamp<decltype(ms)>(ms, 0, kEndless)));
  }
  void put(std::string_view text) {
    text = text.substr(0, kTextMax);
    put(static_cast<std::uint8_t>(text.size()));
    const auto bytes = std::as_bytes(std::span{text});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }
  [[nodiscard]] std::vector<std::byte> take_with_checksum() {
    put(static_cast<std::uint64_t>(XXH3_64bits(bytes_.data(), bytes_.size())));
    return take();
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads fields in order; after the end of the bytes, fields are empty and `complete` is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : all_(bytes), rest_(bytes) {}

  template <std::unsigned_integral T>
  void get(T& value) {
    const auto bytes = next(sizeof(T));
    if (bytes.size() == sizeof(T)) value = detail::load_little_endian<T>(bytes);
  }
  void get(Incarnation& incarnation) {
    get(incarnation.high);
    get(incarnation.low);
  }
  void get(std::array<std::byte, 32>& block) { std::ranges::copy(next(block.size()), block.begin()); }
  void get(PulseInfo& pulse) {
    std::uint32_t ms = 0;
    get(pulse.address);
    get(ms);
    pulse.lease = ms == kEndless ? kEndlessLease : Duration(std::chrono::milliseconds{ms});
  }
  void get(std::string& text) {
    std::uint8_t size = 0;
    get(size);
    const auto bytes = next(size);
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  /// Reads the checksum of all earlier bytes. Returns whether it is right.
  [[nodiscard]] bool undamaged() {
    const auto before = all_.first(all_.size() - rest_.size());
    std::uint64_t checksum = 0;
    get(checksum);
    return !short_ && checksum == XXH3_64bits(before.data(), before.size());
  }

  [[nodiscard]] bool complete() const { return !short_ && rest_.empty(); }

 private:
  std::span<const std::byte> next(std::size_t size) {
    if (short_ || rest_.size() < size) {
      short_ = true;
      return {};
    }
    const auto bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }

  std::span<const std::byte> all_;
  std::span<const std::byte> rest_;
  bool short_ = false;
};

struct Encode {
  std::vector<std::byte> operator()(const Hello& m) const {
    Writer out(Kind::hello);
    out.put(m.version_min);
    out.put(m.version_max);
    out.put(m.nonce);
    out.put(m.incarnation);
    out.put(m.name);
    out.put(m.address);
    out.put(m.cluster_id);
    out.put(m.pulse);
    return out.take_with_checksum();
  }
  std::vector<std::byte> operator()(const Challenge& m) const {
    Writer out(Kind::challenge);
    out.put(m.version);
    out.put(m.client_nonce);
    out.put(m.nonce);
    out.put(m.incarnation);
    out.put(m.name);
    out.put(m.address);
    out.put(m.pulse);
    out.put(m.proof);
    return out.take_with_checksum();
  }
  std::vector<std::byte> operator()(const ClientProof& m) const {
    Writer out(Kind::proof);
    out.put(m.proof);
    return out.take_with_checksum();
  }
  std::vector<std::byte> operator()(const Welcome& m) const {
    Writer out(Kind::welcome);
    out.put(m.slot);
    out.put(m.proof);
    return out.take_with_checksum();
  }
  std::vector<std::byte> operator()(const Refused& m) const {
    Writer out(Kind::refused);
    out.put(static_cast<std::uint16_t>(m.code));
    out.put(m.version_min);
    out.put(m.version_max);
    return out.take();
  }
};

Error undecodable(std::string message) { return Error{.code = ErrorCode::decode, .message = std::move(message)}; }

}  // namespace

std::vector<std::byte> encode(const Message& message) { return std::visit(Encode{}, message); }

Result<Message> decode(std::span<const std::byte> bytes, std::uint16_t version_min, std::uint16_t version_max) {
  Reader in(bytes);
  std::uint32_t magic = 0;
  std::uint8_t kind = 0;
  in.get(magic);
  in.get(kind);
  if (magic != kMagic) return undecodable("not a handshake message");

  Message message;
  switch (static_cast<Kind>(kind)) {
    case Kind::hello: {
      Hello hello;
      in.get(hello.version_min);
      in.get(hello.version_max);
      const bool foreign = hello.version_min > version_max || hello.version_max < version_min;
      if (foreign && bytes.size() >= 9) return Message{hello};
      in.get(hello.nonce);
      in.get(hello.incarnation);
      in.get(hello.name);
      in.get(hello.address);
      in.get(hello.cluster_id);
      in.get(hello.pulse);
      message = std::move(hello);
      break;
    }
    case Kind::challenge: {
      Challenge challenge;
      in.get(challenge.version);
      in.get(challenge.client_nonce);
      in.get(challenge.nonce);
      in.get(challenge.incarnation);
      in.get(challenge.name);
      in.get(challenge.address);
      in.get(challenge.pulse);
      in.get(challenge.proof);
      message = std::move(challenge);
      break;
    }
    case Kind::proof: {
      ClientProof proof;
      in.get(proof.proof);
      message = proof;
      break;
    }
    case Kind::welcome: {
      Welcome welcome;
      in.get(welcome.slot);
      in.get(welcome.proof);
      message = welcome;
      break;
    }
    case Kind::refused: {
      Refused refused;
      std::uint16_t code = 0;
      in.get(code);
      refused.code = static_cast<ErrorCode>(code);
      in.get(refused.version_min);
      in.get(refused.version_max);
      message = refused;
      break;
    }
    default: return undecodable(fmt::format("handshake message of unknown kind {}", kind));
  }
  const bool undamaged = static_cast<Kind>(kind) == Kind::refused || in.undamaged();
  if (!in.complete()) return undecodable(fmt::format("handshake message of {} bytes has another length", bytes.size()));
  if (!undamaged) return undecodable("handshake message with a wrong checksum");
  return message;
}

}  // namespace troupe::handshake
