#include "node/keys/certificate.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <stdexcept>

#include "node/keys/member_lines.h"
#include "node/keys/word_lines.h"

namespace troupe {

std::string Certificate::signed_by(const SigningKey& key) const {
  return detail::with_signature(
      fmt::format("troupe-certificate 1\ncluster {}\nserial {}\n{}", cluster_id, serial, detail::member_line(member)),
      key);
}

Certificate Certificate::parse(std::string_view text, const VerifyingKey& key) {
  if (text.size() > kBytesMax) throw std::invalid_argument(fmt::format("has more than {} bytes", kBytesMax));
  detail::WordLines lines(text);
  lines.kind("troupe-certificate");
  Certificate certificate;
  std::array<std::byte, MemberList::kClusterIdBytes> cluster{};
  lines.bytes("cluster", cluster);
  certificate.cluster_id = detail::hex_of(cluster);
  certificate.serial = lines.number("serial");
  certificate.member = detail::read_member(lines);
  detail::check_signature(lines, text, key);
  return certificate;
}

}  // namespace troupe
