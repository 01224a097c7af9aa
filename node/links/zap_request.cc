#include "node/links/zap_request.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

constexpr std::string_view kVersion = "1.0";
constexpr std::string_view kCurve = "CURVE";
constexpr std::size_t kRoute = 0, kVersionAt = 2, kId = 3, kAddress = 5, kMechanism = 7, kCredentials = 8;

std::string_view text_of(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
}

Frame frame_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  return make_frame({bytes.begin(), bytes.end()});
}

}  // namespace

std::optional<ZapRequest> decode_zap(const Frames& message) {
  if (message.size() < kCredentials || text_of(message[kVersionAt]) != kVersion) return std::nullopt;
  ZapRequest request{.route = message[kRoute],
                     .id = message[kId],
                     .address = std::string(text_of(message[kAddress])),
                     .key = std::nullopt};
  if (text_of(message[kMechanism]) == kCurve && message.size() == kCredentials + 1 &&
      message[kCredentials].bytes.size() == PublicKey::kBytes) {
    std::ranges::copy(message[kCredentials].bytes, request.key.emplace().bytes.begin());
  }
  return request;
}

Frames encode_zap_answer(const ZapRequest& request, const std::optional<NodeName>& user) {
  return {request.route,
          frame_of(""),
          frame_of(kVersion),
          request.id,
          frame_of(user ? "200" : "400"),
          frame_of(user ? "OK" : "no member has this key"),
          frame_of(user.value_or("")),
          frame_of("")};
}

}  // namespace troupe
