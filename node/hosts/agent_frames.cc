#include "node/hosts/agent_frames.h"

#include <fmt/format.h>
#include <string.h>

namespace troupe::detail {
namespace {

constexpr std::size_t kHeader = 5;

void need(std::string_view body, std::size_t size) {
  if (body.size() < size) throw AgentProtocolError(fmt::format("a body ends {} bytes early", size - body.size()));
}

}  // namespace

std::string encode_frame(AgentFrameKind kind, std::string_view body) {
  std::string frame;
  frame.reserve(kHeader + body.size());
  put_u32(frame, static_cast<std::uint32_t>(body.size()));
  frame.push_back(static_cast<char>(kind));
  frame.append(body);
  return frame;
}

std::optional<AgentFrame> AgentFrameReader::next() {
  std::string_view rest = std::string_view(bytes_).substr(taken_);
  if (rest.size() < kHeader) return std::nullopt;
  const std::size_t size = take_u32(rest);
  if (size > kBodyMax) throw AgentProtocolError(fmt::format("a frame of {} bytes, more than {}", size, kBodyMax));
  const auto kind = static_cast<AgentFrameKind>(take_u8(rest));
  if (rest.size() < size) return std::nullopt;
  AgentFrame frame{kind, std::string(rest.substr(0, size))};
  taken_ += kHeader + size;
  if (taken_ * 2 > bytes_.size()) {
    explicit_bzero(bytes_.data(), taken_);  // a secret, maybe
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
  return frame;
}

std::optional<std::string> AgentGreetingReader::feed(std::string_view bytes) {
  bytes_.append(bytes);
  const std::size_t at = bytes_.find(kAgentGreeting);
  if (at != std::string::npos) {
    greeting_ = at;
    return bytes_.substr(at + kAgentGreeting.size());
  }
  if (bytes_.size() > kNoiseMax) {
    throw AgentProtocolError(fmt::format("{} bytes of other output instead of the agent's greeting", bytes_.size()));
  }
  return std::nullopt;
}

std::string_view AgentGreetingReader::noise() const {
  return std::string_view(bytes_).substr(0, greeting_.value_or(bytes_.size()));
}

void put_u32(std::string& body, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) body.push_back(static_cast<char>((value >> shift) & 0xff));
}

std::uint32_t take_u32(std::string_view& body) {
  need(body, 4);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(body[i])} << (8 * i);
  body.remove_prefix(4);
  return value;
}

void put_u64(std::string& body, std::uint64_t value) {
  put_u32(body, static_cast<std::uint32_t>(value));
  put_u32(body, static_cast<std::uint32_t>(value >> 32));
}

std::uint64_t take_u64(std::string_view& body) {
  const std::uint64_t low = take_u32(body);
  return low | std::uint64_t{take_u32(body)} << 32;
}

std::uint8_t take_u8(std::string_view& body) {
  need(body, 1);
  const auto value = static_cast<unsigned char>(body.front());
  body.remove_prefix(1);
  return value;
}

}  // namespace troupe::detail
